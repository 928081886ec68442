"""What a call ends with that has no result."""

import json


class Problem(Exception):
    """A refusal, or an answer that did not come.

    `slug` names it (`not-owner`), `effect` is `none` or `unknown`, `retry` is `now`, `later`, `same-key` or `no`.
    `result` is what a call was granted that came to its end before it was cancelled.
    """

    def __init__(self, slug, detail="", *, status=0, effect="none", retry="no", retry_after=None, pointer=None,
                 position=None, result=None):
        super().__init__(f"{slug}: {detail}" if detail else slug)
        self.slug, self.detail, self.status = slug, detail, status
        self.effect, self.retry, self.retry_after = effect, retry, retry_after
        self.pointer, self.position, self.result = pointer, position, result


class NotAcquired(TimeoutError):
    """The time to wait has passed, and nothing was acquired."""


class Lost(Exception):
    """What was held may belong to somebody else by now."""


def of_response(status, body):
    """The problem that a response tells of."""
    try:
        told = json.loads(body)
        slug = told["type"].rpartition(":")[2]
    except (ValueError, KeyError, TypeError, AttributeError):
        # Not one of ours: a proxy in between, or another server. It says nothing about an effect.
        return Problem("bad-response", f"status {status}", status=status, effect="unknown", retry="same-key")
    after = told.get("retry_after_ms")
    return Problem(
        slug, told.get("detail", ""), status=status, effect=told.get("effect", "unknown"),
        retry=told.get("retry", "no"), retry_after=None if after is None else after / 1000,
        pointer=told.get("pointer"), position=told.get("position"), result=told.get("result"),
    )
