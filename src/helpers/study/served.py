"""What a study says about a served model: where the server is, what is sent to it, and how much may be asked for."""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from helpers.study.strict import Strict

Protocol = Literal["openai", "tei"]
# How a server is asked, which changes no vector.
REQUESTING = {
    "key_env", "batch_texts", "batch_tokens", "concurrency", "retries", "timeout", "max_requests", "max_tokens",
}  # fmt: skip


class ServerSpec(Strict):
    """A server that embeds texts. Its key is in the environment variable that `key_env` names, and nowhere else.

    protocol: `openai` asks `<url>/embeddings` (url ends with /v1), `tei` asks `<url>/embed` of Text Embeddings Inference.
    batch_texts, batch_tokens, concurrency, retries and timeout concern requests; they change no vector.
    """

    url: str = Field(min_length=1, max_length=500)
    model: str | None = Field(None, max_length=200, description="as the server calls it; null: the model's name")
    protocol: Protocol = "openai"
    key_env: str | None = Field(
        None,
        description="name of the variable that holds the key; null: OPENAI_API_KEY for OpenAI's own address, else no key",
    )
    dimensions: int | None = Field(None, gt=0, description="asked for from the server; null: what it gives")
    batch_texts: int = Field(64, ge=1, le=2048, description="texts of one request")
    batch_tokens: int = Field(16_000, ge=1, description="tokens of one request, estimated at 4 characters each")
    concurrency: int = Field(4, ge=1, le=64, description="requests under way at once")
    retries: int = Field(5, ge=0, description="further tries of a request that failed for a passing reason")
    timeout: float = Field(60.0, gt=0, description="seconds for one answer")
    max_requests: int | None = Field(None, ge=1, description="that a run may send in all; null: no limit")
    max_tokens: int | None = Field(None, ge=1, description="that a run may send in all; null: no limit")
    truncate: bool | None = Field(
        None, description="of TEI: cut what is too long (true) or refuse it (false); null: its own way"
    )
    prompt_name: str | None = Field(None, description="of TEI: a prompt of the server's own that stands before ours")

    prompts: dict[Literal["query", "document"], str] | None = Field(
        None, description="that the model was trained with; null: those that mteb has for the model's name"
    )

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        # What is wrong is not shown: it may be a password.
        try:
            parts = urlsplit(url)
            _ = parts.port
        except ValueError:
            raise ValueError("is no address; e.g. http://localhost:8080/v1") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must begin with http:// or https://; e.g. http://localhost:8080/v1")
        if parts.username is not None or parts.password is not None:
            raise ValueError("holds a user or password; put the key into the variable that key_env names")
        if parts.query or parts.fragment:
            raise ValueError("must end with its path, without '?' or '#'; keys belong into the variable of key_env")
        return url.rstrip("/")

    @field_validator("key_env")
    @classmethod
    def _is_a_variable(cls, name: str | None) -> str | None:
        if name is not None and not name.isidentifier():  # the value is not shown: it may be the key itself
            raise ValueError("must be the name of an environment variable, such as OPENAI_API_KEY")
        return name

    @model_validator(mode="after")
    def _suits_the_protocol(self) -> ServerSpec:
        for key in ("truncate", "prompt_name"):
            if self.protocol == "openai" and getattr(self, key) is not None:
                raise ValueError(f"'{key}' is a setting of protocol: tei; leave it out")
        return self

    @property
    def key_variable(self) -> str:
        """The variable of the key; "" where none is sent: a key is for the address that it was given for."""
        of_openai = urlsplit(self.url).hostname == "api.openai.com"
        return self.key_env or ("OPENAI_API_KEY" if of_openai else "")

    def settings(self, name: str) -> dict[str, Any]:
        """What decides about the vectors, as a part of the model's identity; `name`: that of the model."""
        return self.model_dump(exclude=REQUESTING | {"prompts"}) | {"model": self.model or name}
