"""Ways in which an extender's filter can fail, and what kube-scheduler says then."""

from tests.extenders.server import HANG_UP, Answer, Json

URL = "http://extender"
"""Stands for the server's address in texts."""

ANSWERS: dict[str, tuple[object, str]] = {
    "status 500": (500, f"failed filter with extender at URL {URL}/filter, code 500"),
    "status 204": (204, f"failed filter with extender at URL {URL}/filter, code 204"),
    "status 404": (404, f"failed filter with extender at URL {URL}/filter, code 404"),
    "nothing": (b"", "EOF"),
    "half an object": (b"{", "unexpected EOF"),
    "text": (b"hello", "invalid character 'h' looking for beginning of value"),
    "a comma too many": (b'{"Error":"a",}', "invalid character '}' looking for beginning of object key string"),
    "no colon": (b'{"Error" "a"}', "invalid character '\"' after object key"),
    "no comma": (b'{"NodeNames":["a" "b"]}', "invalid character '\"' after array element"),
    "a list": (b"[]", "json: cannot unmarshal array into Go value of type v1.ExtenderFilterResult"),
    "a string": (b'"x"', "json: cannot unmarshal string into Go value of type v1.ExtenderFilterResult"),
    "names that are a number": (
        b'{"NodeNames":5}',
        "json: cannot unmarshal number into Go struct field ExtenderFilterResult.NodeNames of type []string",
    ),
    "a name that is a number": (
        b'{"NodeNames":[5]}',
        "json: cannot unmarshal number into Go struct field ExtenderFilterResult.NodeNames of type string",
    ),
    "a reason that is a number": (
        b'{"FailedNodes":{"n1":5}}',
        "json: cannot unmarshal number into Go struct field ExtenderFilterResult.FailedNodes of type string",
    ),
    "nodes that are a list": (
        b'{"Nodes":[]}',
        "json: cannot unmarshal array into Go struct field ExtenderFilterResult.Nodes of type v1.NodeList",
    ),
    "an unknown node": (
        b'{"nodenames":["ghost"]}',
        f'extender "{URL}" claims a filtered node "ghost" which is not found in the input node list',
    ),
    "an error": (b'{"error":"no opinion"}', "no opinion"),
    "an error and more": (b'{"error":"no opinion"} {', "no opinion"),
    "hanging up": (HANG_UP, f'Post "{URL}/filter": EOF'),
    "a redirection to an error": (302, "from elsewhere"),
    "a lasting redirection to an error": (308, "from elsewhere"),
}
"""What filter answers, and the error of the pod's cycle."""

URLS = {
    "http://127.0.0.1:1": 'Post "http://127.0.0.1:1/filter": dial tcp 127.0.0.1:1: connect: connection refused',
    "ftp://x": 'Post "ftp://x/filter": unsupported protocol scheme "ftp"',
    "extender": 'Post "extender/filter": unsupported protocol scheme ""',
    "http:///x": 'Post "http:///x/filter": http: no Host in request URL',
}
"""Prefixes behind which nobody answers, and the error of the pod's cycle."""


def verbs_of(answer: object) -> dict[str, Answer]:
    """Return a server's verbs with this answer to filter."""
    return {"filter": lambda body: answer, "elsewhere": lambda body: {"Error": "from elsewhere"}}


def extender(url: str, **fields: object) -> Json:
    """Return a filter extender that takes names, as a configuration has it."""
    return {"urlPrefix": url, "filterVerb": "filter", "nodeCacheCapable": True, **fields}
