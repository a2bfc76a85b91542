"""The hint shown wherever a model is needed and none is configured. Import-free, since start-up loads it."""

LOCAL_MODEL = "qwen3:8b"
"""The model proposed to users who have none: it calls tools and runs on a laptop."""
WAYS_TO_A_MODEL = (
    f"To get a model: install Ollama and run `ollama pull {LOCAL_MODEL}` (nothing else to set); "
    "or set OPENAI_API_KEY or ANTHROPIC_API_KEY in the environment; "
    "or set `planloom.model.baseUrl` (on the command line --base-url) to any OpenAI-compatible server, for example "
    "http://localhost:8080/v1 for `llama-server` or http://localhost:1234/v1 for LM Studio."
)
"""How to get a model, for messages to users."""
