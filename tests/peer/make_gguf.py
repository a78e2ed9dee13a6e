#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a small language model with random weights: make_gguf.py FILE [SEED].

GGUF version 3 (the format's specification in ggml), architecture llama, two layers of 64, a sentencepiece vocabulary of bytes, letters and
a few words. What it says means nothing; how many tokens it says is what the tests look at.
"""
import array
import random
import struct
import sys

LAYERS, WIDTH, HEADS, CONTEXT = 2, 64, 4, 4096
FEED = WIDTH * 3
U32, F32, BOOL, STRING, ARRAY, I32 = 4, 6, 7, 8, 9, 5  # value types of GGUF


def text(s):
    raw = s.encode()
    return struct.pack("<Q", len(raw)) + raw


def vocabulary():
    space = "\u2581"
    pieces = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    kinds = [2, 3, 3] + [6] * 256  # unknown, control, control, byte
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    words = [space] + letters + [space + x for x in letters]
    words += [space + w for w in ("the", "energy", "of")] + ["\u00e9", "\u4e16", "\u754c", "\U0001f600"]
    return pieces + words, kinds + [1] * len(words), [0.0] * 259 + [-float(i) for i in range(len(words))]


def metadata():
    pieces, kinds, scores = vocabulary()
    yield "general.architecture", STRING, text("llama")
    yield "general.name", STRING, text("random-tiny")
    yield "general.alignment", U32, struct.pack("<I", 32)
    for key, value in (("context_length", CONTEXT), ("embedding_length", WIDTH), ("block_count", LAYERS),
                       ("feed_forward_length", FEED), ("attention.head_count", HEADS),
                       ("attention.head_count_kv", HEADS), ("rope.dimension_count", WIDTH // HEADS),
                       ("vocab_size", len(pieces))):
        yield "llama." + key, U32, struct.pack("<I", value)
    yield "llama.attention.layer_norm_rms_epsilon", F32, struct.pack("<f", 1e-5)
    yield "general.file_type", U32, struct.pack("<I", 0)
    yield "tokenizer.ggml.model", STRING, text("llama")
    yield "tokenizer.ggml.tokens", ARRAY, struct.pack("<IQ", STRING, len(pieces)) + b"".join(map(text, pieces))
    yield "tokenizer.ggml.scores", ARRAY, struct.pack("<IQ", F32, len(scores)) + array.array("f", scores).tobytes()
    yield "tokenizer.ggml.token_type", ARRAY, struct.pack("<IQ", I32, len(kinds)) + array.array("i", kinds).tobytes()
    for key, value in (("bos", 1), ("eos", 2), ("unknown", 0)):
        yield f"tokenizer.ggml.{key}_token_id", U32, struct.pack("<I", value)
    yield "tokenizer.ggml.add_bos_token", BOOL, b"\1"
    yield "tokenizer.ggml.add_eos_token", BOOL, b"\0"
    yield "tokenizer.chat_template", STRING, text("{% for m in messages %}{{ m['content'] }}{% endfor %}")


def tensors():
    size = len(vocabulary()[0])
    yield "token_embd.weight", (WIDTH, size)
    yield "output_norm.weight", (WIDTH,)
    yield "output.weight", (WIDTH, size)
    for i in range(LAYERS):
        for name, shape in (("attn_norm", (WIDTH,)), ("attn_q", (WIDTH, WIDTH)), ("attn_k", (WIDTH, WIDTH)),
                            ("attn_v", (WIDTH, WIDTH)), ("attn_output", (WIDTH, WIDTH)), ("ffn_norm", (WIDTH,)),
                            ("ffn_gate", (WIDTH, FEED)), ("ffn_up", (WIDTH, FEED)), ("ffn_down", (FEED, WIDTH))):
            yield f"blk.{i}.{name}.weight", shape


def padded(raw):
    return raw + bytes(-len(raw) % 32)


def write(path, seed=1):
    rng = random.Random(seed)
    pairs = [text(k) + struct.pack("<I", kind) + raw for k, kind, raw in metadata()]
    infos, data, offset = [], [], 0
    for name, shape in tensors():
        count = 1
        for n in shape:
            count *= n
        if len(shape) == 1:
            values = array.array("f", [1.0]) * count
        else:
            spread = 0.3 if "output" in name else 0.08
            values = array.array("f", (rng.gauss(0, spread) for _ in range(count)))
        raw = padded(values.tobytes())
        infos.append(text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape) +
                     struct.pack("<IQ", 0, offset))
        data.append(raw)
        offset += len(raw)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(pairs)) + b"".join(pairs) + b"".join(infos)
    with open(path, "wb") as out:
        out.write(padded(head))
        out.writelines(data)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    write(sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 1)
