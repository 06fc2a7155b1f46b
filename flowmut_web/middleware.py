"""The Content-Security-Policy header."""

import secrets
from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

__all__ = ["content_security_policy", "csp_nonce"]

# Everything is served by ourselves. Inline styles are allowed because SVG graphs and Plotly set
# them on elements; inline scripts need the request's nonce.
_POLICY = (
    "default-src 'self'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)

GetResponse = Callable[[HttpRequest], HttpResponseBase]


def content_security_policy(get_response: GetResponse) -> GetResponse:
    """Middleware: give the request a nonce and the response its policy."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        nonce = secrets.token_urlsafe(16)
        request.META["csp_nonce"] = nonce
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", _POLICY.format(nonce=nonce))
        return response

    return middleware


def csp_nonce(request: HttpRequest) -> dict[str, str]:
    """Context processor: `{{ csp_nonce }}` for inline scripts."""
    return {"csp_nonce": request.META.get("csp_nonce", "")}
