/* SPDX-License-Identifier: Apache-2.0 */
/* Synthetic prompts of a wanted number of tokens, without a tokenizer of our own. The server counts: its
 * /tokenize (vLLM, SGLang, llama.cpp) says what each word of a list costs, and the usage of a short request
 * what a template adds; then the words of a prompt add up. Without /tokenize two probes give tokens = a + b *
 * words. Either way the last step is one real request, whose usage must agree.
 *
 * Each prompt begins with its number, written in words, and goes on at random: no two share a block that a
 * prefix cache could keep. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/rng.h"
#include "load/prompts.h"

#include "base/banned.h"

/* Frequent and short, so that nearly every vocabulary has them as one token; letters for those that have not.
 */
static const char *const list[] = {
    "the",    "of",     "and",     "to",     "in",     "is",      "was",    "for",     "on",    "that",
    "with",   "as",     "by",      "at",     "from",   "are",     "this",   "be",      "it",    "or",
    "an",     "were",   "which",   "had",    "his",    "her",     "but",    "not",     "have",  "has",
    "their",  "one",    "all",     "been",   "they",   "who",     "more",   "when",    "first", "also",
    "its",    "time",   "new",     "after",  "two",    "other",   "some",   "would",   "there", "only",
    "may",    "such",   "over",    "into",   "than",   "them",    "these",  "then",    "out",   "about",
    "up",     "year",   "made",    "most",   "many",   "no",      "used",   "between", "can",   "could",
    "under",  "where",  "later",   "during", "work",   "part",    "while",  "people",  "she",   "well",
    "name",   "three",  "high",    "each",   "being",  "since",   "both",   "use",     "city",  "state",
    "world",  "four",   "through", "before", "number", "life",    "known",  "day",     "war",   "music",
    "school", "family", "group",   "water",  "area",   "south",   "north",  "west",    "east",  "house",
    "called", "game",   "long",    "very",   "great",  "home",    "book",   "film",    "end",   "small",
    "place",  "line",   "system",  "early",  "team",   "country", "right",  "left",    "still", "second",
    "found",  "town",   "local",   "form",   "power",  "light",   "point",  "land",    "field", "history",
    "king",   "man",    "men",     "women",  "best",   "often",   "until",  "within",  "along", "road",
    "play",   "days",   "law",     "free",   "large",  "now",     "public", "red",     "black", "white",
    "green",  "blue",   "good",    "old",    "own",    "main",    "set",    "near",    "late",  "open",
    "far",    "low",    "top",     "sea",    "river",  "air",     "fire",   "side",    "hand",  "head",
    "back",   "face",   "eye",     "word",   "page",   "art",     "five",   "six",     "ten",   "a",
    "b",      "c",      "d",       "e",      "f",      "g",       "h",      "i",       "k",     "l",
    "m",      "n",      "o",       "p",      "r",      "s",       "t",      "u",       "w",     "x",
    "y",      "z",
};
enum { LISTED = sizeof list / sizeof *list };
_Static_assert(LISTED <= JM_WORDS_MOST, "the list is longer than its room");

#define CODE_WORDS  4  /* words that write a prompt's number */
#define FEWEST      16 /* words needed: 16 to the fourth prompts differ from their first words on */
#define PROBE_SHORT 24
#define PROBE_LONG  96
#define ROUNDS      3
#define COUNTING_NS (5 * JM_NS_PER_S) /* longest time spent on counting single words */

/* --- making
 * ------------------------------------------------------------------------------------------------------- */
static void put_word(const struct jm_prompts *p, size_t i, struct jm_str *out, size_t from)
{
    if (out->len > from)
        jm_str_addc(out, ' ');
    jm_str_adds(out, p->word[i]);
}

/* A random word of at most `left` tokens, near the end one that leaves no rest that no word fills; or -1. */
static int pick(const struct jm_prompts *p, struct jm_rng *r, int64_t left)
{
    size_t start = jm_rng_below(r, p->words);
    int second = -1;
    for (size_t k = 0; k < p->words; k++) {
        size_t i = (start + k) % p->words;
        int64_t rest = left - p->cost[i];
        if (rest == 0 || rest >= p->cheapest)
            return (int)i;
        if (rest > 0 && second < 0)
            second = (int)i;
    }
    return second;
}

/* Probes have numbers far away from those of requests. */
static uint64_t number_of(int64_t index)
{
    return index >= 0 ? (uint64_t)index : UINT64_MAX / 2 - (uint64_t)-index;
}

/* The number that its first words write: another one with another seed, so that a later run does not begin
 * its prompts as an earlier one did. */
static uint64_t written(const struct jm_prompts *p, uint64_t number)
{
    return number + (p->cfg->seed - 1) * 0x9e3779b97f4a7c15u;
}

/* words < 0: until the tokens are used up */
static void compose(const struct jm_prompts *p, int64_t index, int64_t tokens, int64_t words,
                    struct jm_str *out)
{
    struct jm_rng r;
    size_t from = out->len;
    uint64_t code = number_of(index);
    jm_rng_init_stream(&r, p->cfg->seed, code + 16);
    code = written(p, code);
    for (int k = 0; k < CODE_WORDS && (words < 0 ? tokens > 0 : words > 0); k++, code /= p->words) {
        size_t i = code % p->words;
        if (words < 0 && p->cost[i] > tokens)
            break;
        put_word(p, i, out, from);
        tokens -= p->cost[i];
        words -= words > 0;
    }
    for (; words > 0; words--)
        put_word(p, jm_rng_below(&r, p->words), out, from);
    for (int i; words < 0 && tokens > 0 && (i = pick(p, &r, tokens)) >= 0; tokens -= p->cost[i])
        put_word(p, (size_t)i, out, from);
}

/* Prompts of ids begin with their number too, in digits of the base of how many ids there are. */
static void compose_ids(const struct jm_prompts *p, int64_t index, int64_t tokens, struct jm_str *out)
{
    struct jm_rng r;
    uint64_t code = number_of(index);
    jm_rng_init_stream(&r, p->cfg->seed, code + 16);
    code = written(p, code);
    for (int64_t k = 0; k < tokens; k++, code /= p->ids) {
        size_t i = k < CODE_WORDS ? code % p->ids : jm_rng_below(&r, p->ids);
        if (out->len && out->buf[out->len - 1] != '[')
            jm_str_addc(out, ',');
        jm_str_addf(out, "%d", (int)p->id[i]);
    }
}

void jm_synth_piece(const struct jm_prompts *p, int64_t index, int64_t tokens, struct jm_str *out)
{
    if (p->mode == JM_ISL_IDS) {
        compose_ids(p, index, tokens, out);
        return;
    }
    if (out->len && tokens > 0)
        jm_str_addc(out, ' ');
    if (p->mode == JM_ISL_TOKENIZE) {
        compose(p, index, tokens, -1, out);
    } else {
        int64_t n = llround((double)tokens / p->per_word);
        compose(p, index, 0, n > 0 ? n : tokens > 0, out);
    }
}

void jm_synth_text(const struct jm_prompts *p, int64_t index, int isl, struct jm_str *out)
{
    if (p->mode == JM_ISL_IDS) {
        compose_ids(p, index, isl - llround(p->overhead), out);
    } else if (p->mode == JM_ISL_TOKENIZE) {
        compose(p, index, isl - llround(p->overhead), -1, out);
    } else {
        int64_t n = llround((isl - p->overhead) / p->per_word);
        compose(p, index, 0, n > 0 ? n : 1, out);
    }
}

/* --- counting
 * ----------------------------------------------------------------------------------------------------- */
/* The server's /tokenize: {"count":n,"tokens":[...]} (vLLM, SGLang), {"tokens":[...]} (llama.cpp), or an
 * array (TGI). Each looks for the text under a name of its own and passes over the others. NULL when there is
 * none. */
static struct jm_json *tokenize(const struct jm_prompts *p, struct jm_span text)
{
    struct jm_str body;
    struct jm_jsonw w;
    struct jm_reply r;
    struct jm_json *doc = NULL;
    jm_str_init(&body);
    jm_reply_init(&r);
    jm_jsonw_init(&w, &body, 0);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "model", p->model);
    jm_jsonw_kspan(&w, "prompt", text);  /* vLLM, SGLang */
    jm_jsonw_kspan(&w, "content", text); /* llama.cpp */
    jm_jsonw_kspan(&w, "inputs", text);  /* TGI */
    jm_jsonw_kbool(&w, "add_special_tokens", false);
    jm_jsonw_end(&w);
    if (!body.failed &&
        jm_client_fetch(p->client, "POST", "/tokenize", jm_str_span(&body), 0, &r, NULL) == 0 &&
        r.status == 200)
        (void)jm_json_parse(jm_str_span(&r.body), &doc, NULL);
    jm_reply_release(&r);
    jm_str_release(&body);
    return doc;
}

/* -1 when the server does not count. */
static int64_t count(const struct jm_prompts *p, struct jm_span text)
{
    struct jm_json *doc = tokenize(p, text);
    const struct jm_json *tokens = jm_json_is_array(doc) ? doc : jm_json_get(doc, "tokens");
    int64_t n = -1;
    if (!jm_json_i64(jm_json_get(doc, "count"), &n))
        n = jm_json_is_array(tokens) ? (int64_t)jm_json_len(tokens) : -1;
    jm_json_free(doc);
    return n;
}

static int64_t count_words(const struct jm_prompts *p, size_t from, size_t n, int times)
{
    struct jm_str s;
    jm_str_init(&s);
    for (size_t i = from; i < from + n; i++)
        for (int k = 0; k < times; k++)
            put_word(p, i, &s, 0);
    int64_t c = s.failed ? -1 : count(p, jm_str_span(&s));
    jm_str_release(&s);
    return c;
}

/* Fills cost[from..from+n): groups that cost one token a word are done at once, others are halved. 0: not
 * known. */
static void cost_of(struct jm_prompts *p, size_t from, size_t n, int64_t offset, int64_t until)
{
    struct jm_clock clock = jm_clock_system();
    for (size_t i = from; i < from + n; i++)
        p->cost[i] = 0;
    if (jm_clock_mono(&clock) > until)
        return;
    if (n == 1) {
        int64_t c = count_words(p, from, 1, 8) - offset;
        if (c > 0 && c % 8 == 0 && c / 8 < 64)
            p->cost[from] = (int)(c / 8);
        return;
    }
    if (count_words(p, from, n, 1) - offset == (int64_t)n) {
        for (size_t i = from; i < from + n; i++)
            p->cost[i] = 1;
        return;
    }
    cost_of(p, from, n / 2, offset, until);
    cost_of(p, from + n / 2, n - n / 2, offset, until);
}

static void use_tokenizer(struct jm_prompts *p)
{
    struct jm_clock clock = jm_clock_system();
    int64_t four = count_words(p, 0, 1, 4), eight = four > 0 ? count_words(p, 0, 1, 8) : -1;
    if (eight <= four)
        return;
    cost_of(p, 0, p->words, 2 * four - eight, jm_clock_mono(&clock) + COUNTING_NS);
    size_t n = 0;
    int cheapest = 64;
    for (size_t i = 0; i < p->words; i++)
        if (p->cost[i] > 0) {
            cheapest = p->cost[i] < cheapest ? p->cost[i] : cheapest;
            p->cost[n] = p->cost[i];
            p->word[n++] = p->word[i];
        }
    if (n < FEWEST)
        return;
    p->words = n;
    p->cheapest = cheapest;
    p->mode = JM_ISL_TOKENIZE;
}

/* The prompt tokens that a real request counts, -1 when the server does not say; an error when it refuses. */
static int probe(const struct jm_prompts *p, struct jm_span text, struct jm_span ids, int64_t *tokens,
                 struct jm_err *err)
{
    struct jm_ask ask = {.model = p->model,
                         .text = text,
                         .ids = ids,
                         .max_tokens = 1,
                         .probe = true,
                         .counts = p->cfg->counts,
                         .temperature = NAN,
                         .extra = jm_span_of(p->cfg->extra_json)};
    struct jm_str body, path;
    struct jm_reply r;
    struct jm_said said;
    *tokens = -1;
    jm_str_init(&body);
    jm_str_init(&path);
    jm_reply_init(&r);
    int rc = p->reader->d->write(&ask, &body, err);
    if (rc == 0)
        rc = jm_dialect_path(p->reader->row->path_whole, p->model, &path, err);
    if (rc == 0)
        rc = jm_client_fetch(p->client, "POST", path.buf, jm_str_span(&body), p->client->header_ns, &r, err);
    if (rc == 0 && (r.status < 200 || r.status > 299))
        rc = jm_reply_error(p->client, &r, "a request that only finds out how prompts are counted", err);
    if (rc == 0) {
        p->reader->d->read_whole(p->reader, jm_str_span(&r.body), &said);
        if (said.failed)
            rc = jm_err_set(err, JM_EIO, "http%s://%s answers with an error: %s",
                            p->client->target.tls ? "s" : "", p->client->target.authority, said.text);
        else if (!said.bad && said.prompt > 0)
            *tokens = said.prompt;
    }
    jm_reply_release(&r);
    jm_str_release(&path);
    jm_str_release(&body);
    return rc;
}

static int probe_of(const struct jm_prompts *p, int64_t index, int64_t tokens, int64_t words,
                    int64_t *counted, struct jm_err *err)
{
    struct jm_str s;
    jm_str_init(&s);
    compose(p, index, tokens, words, &s);
    int rc = jm_str_ok(&s, "a prompt", err);
    if (rc == 0)
        rc = probe(p, jm_str_span(&s), (struct jm_span){0}, counted, err);
    jm_str_release(&s);
    return rc;
}

/* What every prompt has beside its words: the start token, the chat template. */
static int find_overhead(struct jm_prompts *p, struct jm_err *err)
{
    int64_t a, b;
    if (p->mode == JM_ISL_TOKENIZE) {
        int rc = probe_of(p, -1, PROBE_SHORT, -1, &a, err);
        p->overhead = rc == 0 && a > 0 ? (double)(a - PROBE_SHORT) : 0;
        return rc;
    }
    int rc = probe_of(p, -1, 0, PROBE_SHORT, &a, err);
    if (rc == 0 && a > 0)
        rc = probe_of(p, -2, 0, PROBE_LONG, &b, err);
    if (rc || a <= 0 || b <= a)
        return rc;
    p->mode = JM_ISL_PROBE;
    p->per_word = (double)(b - a) / (PROBE_LONG - PROBE_SHORT);
    p->overhead = (double)a - p->per_word * PROBE_SHORT;
    return 0;
}

/* Ids that prompts can be made of: those of the words, by the server's tokenizer, else small ones, which
 * every vocabulary has and whose first thousand hold what is special. */
static void find_ids(struct jm_prompts *p)
{
    struct jm_str s;
    jm_str_init(&s);
    for (size_t i = 0; i < p->words; i++)
        put_word(p, i, &s, 0);
    struct jm_json *doc = tokenize(p, jm_str_span(&s));
    const struct jm_json *told = jm_json_get(doc, "tokens");
    p->ids = 0;
    for (size_t i = 0; i < jm_json_len(told) && p->ids < JM_WORDS_MOST; i++) {
        int64_t v;
        bool new = jm_json_i64(jm_json_at(told, i), &v) && v >= 0 && v <= INT32_MAX;
        for (size_t k = 0; new &&k < p->ids; k++)
            new = p->id[k] != v;
        if (new)
            p->id[p->ids++] = (int32_t)v;
    }
    p->ids_known = p->ids >= FEWEST;
    if (!p->ids_known)
        for (p->ids = 0; p->ids < JM_WORDS_MOST; p->ids++)
            p->id[p->ids] = 1000 + 31 * (int32_t)p->ids;
    jm_json_free(doc);
    jm_str_release(&s);
    p->mode = JM_ISL_IDS;
    p->overhead = 0;
}

/* One real request, whose count must be the length asked for; what it has more or less is made up for. */
static int confirm(struct jm_prompts *p, struct jm_err *err)
{
    int isl = p->isl, rc = 0;
    int64_t counted = -1;
    bool ids = p->mode == JM_ISL_IDS;
    for (int round = 0; round < ROUNDS && !p->checked; round++) {
        if (p->overhead + 1 > isl)
            return jm_err_set(err, JM_ERANGE,
                              "a prompt of %d tokens cannot be made: the model's template alone takes %.0f",
                              isl, p->overhead);
        struct jm_str s;
        jm_str_init(&s);
        if (ids)
            jm_str_addc(&s, '[');
        jm_synth_text(p, -3 - round, isl, &s);
        if (ids)
            jm_str_addc(&s, ']');
        struct jm_span none = {0};
        rc = probe(p, ids ? none : jm_str_span(&s), ids ? jm_str_span(&s) : none, &counted, err);
        jm_str_release(&s);
        if (rc || counted < 0)
            return rc;
        p->checked = counted == isl;
        if (counted < isl - isl / 10 && round > 0)
            return jm_err_set(err, JM_ERANGE,
                              "the server counted %lld tokens of a prompt of %d: it cuts prompts to its "
                              "context; ask for less, or "
                              "start the engine with a longer one",
                              (long long)counted, isl);
        if (!p->checked)
            p->overhead += (double)(counted - isl);
    }
    return 0;
}

int jm_synth_calibrate(struct jm_prompts *p, struct jm_err *err)
{
    for (p->words = 0; p->words < LISTED; p->words++) {
        p->word[p->words] = list[p->words];
        p->cost[p->words] = 1;
    }
    p->mode = JM_ISL_WORDS;
    p->per_word = p->cheapest = 1;
    if (p->cfg->prompt_ids) {
        find_ids(p);
        return confirm(p, err);
    }
    use_tokenizer(p);
    int rc = find_overhead(p, err);
    return rc || p->mode == JM_ISL_WORDS ? rc : confirm(p, err);
}
