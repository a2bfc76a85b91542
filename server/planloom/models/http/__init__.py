"""What all HTTP providers share: a transport that bounds hostile answers, deadlines, retries, keys and failures."""

# Before any module here imports httpx.
import planloom.web  # noqa: F401
