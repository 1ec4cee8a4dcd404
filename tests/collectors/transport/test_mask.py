"""Secrets never survive, and nothing else changes."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeprules.collectors.transport.mask import masked

SECRETS = {
    "openai": b"sk-proj-AbCdEf0123456789AbCdEf0123456789",
    "huggingface": b"hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345",
    "github": b"ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "github-oauth": b"gho_0123456789abcdefghijABCDEFGHIJ012345",
    "github-pat": b"github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz",
    "aws": b"AKIAIOSFODNN7EXAMPLE",
    "jwt": b"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize(
    "around",
    [b"%s", b"key %s end", b"'%s'", b"\n%s\n", rb'{"log": "\n%s"}', b"\xff\x00%s\xfe", b"a=%s&b=1", b"(%s)"],
)
def test_a_bare_secret_is_struck_out_with_its_length_kept(secret: bytes, around: bytes) -> None:
    text = around % secret
    result = masked(text)
    assert secret[8:] not in result
    assert b"[masked" in result
    assert len(result) == len(text)


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        (b"export DAYTONA_API_KEY=abc123", b"abc123"),
        (b'{"WANDB_API_KEY": "0123456789abcdef"}', b"0123456789abcdef"),
        (b"{'HF_TOKEN': 'short'}", b"short"),
        (b"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", b"wJalrXUtnFEMI"),
        (b"GET /x?token=abcdefgh12345678&x=1", b"abcdefgh12345678"),
        (b"api_key: 'abcdefgh12345678'", b"abcdefgh12345678"),
        (b"Authorization: Bearer abcdefgh.12345678", b"abcdefgh.12345678"),
        (b"postgres://bob:hunter2@db/x", b"hunter2"),
        (b"password=correct-horse", b"correct-horse"),
    ],
)
def test_a_named_secret_is_struck_out(text: bytes, hidden: bytes) -> None:
    result = masked(text)
    assert hidden not in result
    assert len(result) == len(text)


@pytest.mark.parametrize(
    "text",
    [
        b"task-0123456789abcdefghijkl and disk-0123456789abcdefghijkl",
        b"max_token=12345678 n_token: 1.25e+08 tokens=98765432100",
        b"hf_upload_rl__a2_8B_step_120_of_916_final sk-learn-baseline-run-3-of-12",
        b"eos_token=</s> pad_token=151643",
        b"ghp_short hf_short sk-short AKIA",
        b"rl__a2-8B|RUNNING|2-03:04:05|c637-[001-014]",
        b"https://huggingface.co/laion/x:main",
        b"WorkNCCL(SeqNum=12, OpType=ALLREDUCE) ran for 1800123 milliseconds",
    ],
)
def test_what_is_no_secret_stays(text: bytes) -> None:
    assert masked(text) == text


def test_a_private_key_loses_its_body_and_keeps_its_lines() -> None:
    body = b"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n" * 3
    text = b"before\n-----BEGIN RSA PRIVATE KEY-----\n" + body + b"-----END RSA PRIVATE KEY-----\nafter the key\n"
    result = masked(text)
    assert b"MIIEvQ" not in result
    assert result.count(b"\n") == text.count(b"\n")
    assert result.startswith(b"before\n-----BEGIN") and result.endswith(b"-----\nafter the key\n")


def test_a_private_key_that_was_cut_loses_what_is_there_and_no_log_line_with_it() -> None:
    text = b"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG\nstep 12 loss 0.3\nMIIEvQ\n"
    assert masked(text) == b"-----BEGIN PRIVATE KEY-----\n[masked************]\nstep 12 loss 0.3\nMIIEvQ\n"


def test_a_private_key_on_one_line_is_struck_out() -> None:
    result = masked(rb'{"key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG\n-----END PRIVATE KEY-----\n"}')
    assert b"MIIE" not in result
    assert result.endswith(rb'-----END PRIVATE KEY-----\n"}')


FRAGMENTS = st.sampled_from(
    [
        *SECRETS.values(),
        b"sk-",
        b"hf_",
        b"AKIA",
        b"eyJ",
        b"token=",
        b"_API_KEY=",
        b"'",
        b'"',
        b" ",
        b"\n",
        b"\r",
        b".",
        b"-----BEGIN PRIVATE KEY-----",
        b"-----END PRIVATE KEY-----",
        b"Bearer ",
        b"://u:p@",
        b"[masked]",
        b"*",
        b"0",
        b"abcdefgh",
        b"0123456789ABCDEF",
        b"\x00",
        b"\xff",
        b"=",
        b":",
        b"-",
        b"_",
        b"DEK-Info: AES",
        b"MIIEvQIB",
    ]
)
HOSTILE = st.lists(FRAGMENTS | st.binary(max_size=6), max_size=24).map(b"".join)


@given(HOSTILE)
def test_masking_twice_is_masking_once_and_keeps_every_line_where_it_was(data: bytes) -> None:
    once = masked(data)
    assert masked(once) == once
    assert [len(line) for line in once.split(b"\n")] == [len(line) for line in data.split(b"\n")]


@given(st.lists(HOSTILE, max_size=4))
def test_a_bare_secret_on_a_line_of_its_own_never_survives(lines: list[bytes]) -> None:
    secret = SECRETS["huggingface"]
    assert secret not in masked(b"\n".join([*lines, secret, *lines])).split(b"\n")


@pytest.mark.parametrize("unit", [b"eyJ", b"sk-", b"token=", b"eyJabcdefgh.", b"-----BEGIN ", b"_API_KEY=", b"://a:"])
def test_masking_is_linear(unit: bytes) -> None:
    def seconds(size: int) -> float:
        data = unit * (size // len(unit))
        times = []
        for _ in range(3):
            start = time.perf_counter()
            masked(data)
            times.append(time.perf_counter() - start)
        return min(times)

    # Quadratic work would take 64 times as long.
    assert seconds(1_600_000) < 30 * max(seconds(200_000), 0.002)
