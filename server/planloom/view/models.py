"""Names the model that is used, or will be when one is needed."""

from __future__ import annotations

from planloom.models.port import ModelIdentity
from planloom.providers import title_of
from planloom.settings import ModelSettings
from planloom.view.words import Words


def model_words(now: ModelIdentity, chosen: ModelSettings, t: Words) -> str:
    """The service and the model; `chosen` is what the user has set, which tells them before one was needed."""
    provider, name = now.provider, now.name
    if is_open := provider == "auto":
        provider, name = chosen.provider, chosen.name
    if provider == "embedded":
        return t("No model")
    address = chosen.base_url if chosen.provider in ("auto", provider) else ""
    if provider == "auto" and not address:
        return name or t("Model chosen when needed")
    title = t("Editor") if provider == "editor" else title_of(provider, address)
    if name and name != title:
        return f"{title} · {name}"
    return t("{0}, model chosen when needed", title) if is_open else title
