"""A language model of some thousand weights, a tokenizer of few words, and texts made of them: nothing is fetched."""

from __future__ import annotations

import random

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

WORDS = ("red", "green", "blue", "sun", "moon", "sea", "one", "two", "three", "and", "is", "of")
MARKS = ("<pad>", "<eos>", "<unk>")


def tokenizer() -> PreTrainedTokenizerFast:
    """A word is a token."""
    made = Tokenizer(models.WordLevel({word: at for at, word in enumerate((*MARKS, *WORDS))}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", padding_side="left"
    )


def model() -> GPT2LMHeadModel:
    """Random weights."""
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(WORDS) + len(MARKS),
            n_positions=64,
            n_embd=16,
            n_layer=1,
            n_head=2,
            bos_token_id=1,
            eos_token_id=1,
            pad_token_id=0,
        )
    )


def texts(count: int) -> Dataset:
    """Sentences without sense, always the same."""
    rng = random.Random(5)
    return Dataset.from_dict({"text": [" ".join(rng.choices(WORDS, k=12)) for _ in range(count)]})
