#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OpenAI's own Python client (PyPI: openai) reads the simulated engine: a second opinion on the shape of its answers.

It is installed into a virtual environment in the build folder; where Python's venv, pip or the registry are missing, the
test is skipped.
"""
import json
import os
import subprocess
import sys
import unittest

import pypi
import tap
from simengine import Engine

PYTHON, WHY = pypi.prepare("openai", "openai==1.109.1", "openai")


def client(engine, code):
    """Runs code with a client c and the model's name; what it puts into the dict `out` comes back."""
    program = (f"import json, openai\nout = {{}}\nc = openai.OpenAI(base_url={engine.url + '/v1'!r}, api_key='k', max_retries=0, "
               f"timeout=20)\nmodel = {engine.ready['model']!r}\n"
               "ask = dict(model=model, messages=[{'role': 'user', 'content': 'How much?'}], max_tokens=12, "
               "extra_body={'ignore_eos': True})\n" + code + "\nprint(json.dumps(out))\n")
    r = subprocess.run([PYTHON, "-c", program], capture_output=True, text=True, timeout=60)
    if r.returncode:
        raise AssertionError(r.stderr)
    return json.loads(r.stdout)


class Client(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        why = WHY
        if why:
            raise unittest.SkipTest(why)
        cls.e = Engine("--speed", "20", "--api-key", "k")

    @classmethod
    def tearDownClass(cls):
        cls.e.stop()

    def test_answers(self):
        out = client(self.e, """
m = c.models.list().data
out["models"] = [x.id for x in m]
r = c.chat.completions.create(**ask)
out["chat"] = [r.usage.completion_tokens, len(r.choices[0].message.content.split()), r.choices[0].finish_reason, r.object]
r = c.completions.create(model=model, prompt="x y", max_tokens=5, extra_body={"ignore_eos": True})
out["text"] = [r.usage.prompt_tokens, r.usage.completion_tokens, len(r.choices[0].text.split()), r.object]
""")
        self.assertEqual(out["models"], ["8b-h100"])
        self.assertEqual(out["chat"], [12, 12, "length", "chat.completion"])
        self.assertEqual(out["text"], [3, 5, 5, "text_completion"])

    def test_streams(self):
        out = client(self.e, """
chunks = list(c.chat.completions.create(stream=True, stream_options={"include_usage": True}, **ask))
out["n"] = len(chunks)
out["role"] = chunks[0].choices[0].delta.role
out["text"] = "".join(x.choices[0].delta.content or "" for x in chunks if x.choices)
out["finish"] = [x.choices[0].finish_reason for x in chunks if x.choices][-1]
out["usage"] = chunks[-1].usage.completion_tokens
for name in ("crlf", "no-space", "comments", "split", "split-chunks", "bom", "http10", "huge", "named", "two-data"):
    ask["model"] = model + "+" + name
    try:
        out[name] = sum(len((x.choices[0].delta.content or "").split()) for x in c.chat.completions.create(stream=True, **ask)
                        if x.choices)
    except Exception as e:
        out[name] = type(e).__name__
""")
        self.assertEqual((out["n"], out["role"], out["finish"], out["usage"]), (15, "assistant", "length", 12))
        self.assertEqual(len(out["text"].split()), 12)
        for name in ("crlf", "no-space", "comments", "split", "split-chunks", "http10", "huge", "named", "two-data"):
            self.assertEqual(out[name], 12, name)

    def test_errors(self):
        out = client(self.e, """
for name in ("400", "401", "403", "404", "429", "500", "refuse", "rst=3", "cut=3", "error-event=3"):
    ask["model"] = model + "+" + name
    try:
        list(c.chat.completions.create(stream=True, **ask))
        out[name] = None
    except openai.APIError as e:
        out[name] = type(e).__name__
    except Exception as e:
        out[name] = "other"
""")
        self.assertEqual(out, {"400": "BadRequestError", "401": "AuthenticationError", "403": "PermissionDeniedError",
                               "404": "NotFoundError", "429": "RateLimitError", "500": "InternalServerError",
                               "refuse": "APIConnectionError", "rst=3": out["rst=3"], "cut=3": out["cut=3"],
                               "error-event=3": "APIError"})
        self.assertIsNotNone(out["rst=3"])
        self.assertIsNotNone(out["cut=3"])


if __name__ == "__main__":
    tap.main()
