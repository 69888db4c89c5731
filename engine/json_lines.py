"""JSON from outside: lines of any length and content, and fields with their types checked."""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

#: Longest line that is read, in bytes; the longest games need a few tens of thousands.
LONGEST_LINE = 1 << 20

_LONGEST_MESSAGE = 300


class RequestError(ValueError):
    """A request that cannot be judged; the message says what is wrong and where."""

    def __init__(self, message: str) -> None:
        # Values from outside are quoted in messages, and may be of any size.
        if len(message) > _LONGEST_MESSAGE:
            message = message[: _LONGEST_MESSAGE - 4] + " ..."
        super().__init__(message)


def read_lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """The lines of a stream; None in place of one that is longer than `LONGEST_LINE`."""
    while line := stream.readline(LONGEST_LINE + 1):
        if len(line) <= LONGEST_LINE or line.endswith(b"\n"):
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(LONGEST_LINE)
        yield None


def parse(line: bytes | None) -> dict[str, Any]:
    """The object of a line of `read_lines`. Raises `RequestError`."""
    if line is None:
        raise RequestError(f"longer than {LONGEST_LINE} bytes")
    try:
        # Without its end, which would count as a column, or as another line.
        request = json.loads(line.decode().rstrip("\r\n"))
    except UnicodeDecodeError as error:
        raise RequestError(f"not UTF-8: byte {error.start} is {line[error.start]:#04x}") from error
    except json.JSONDecodeError as error:
        raise RequestError(f"not JSON: {error.msg} at column {error.pos + 1}") from error
    except RecursionError as error:
        raise RequestError("not JSON that can be read: nested too deeply") from error
    except ValueError as error:  # Python reads no longer ones, and says so in its own terms
        most = sys.get_int_max_str_digits()
        raise RequestError(
            f"not JSON that can be read: a whole number has more than {most} digits"
        ) from error
    if not isinstance(request, dict):
        raise RequestError("a request is a JSON object in braces")
    return request


def strings(request: Mapping[str, Any], key: str, where: str = "") -> list[str]:
    """A list of strings, empty where the key is absent or null."""
    value = request.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise RequestError(f"{where}{key}: must be a list of strings, not {kind(value)}")
    for index, item in enumerate(value):
        if not isinstance(item, str):
            raise RequestError(f"{where}{key}[{index}]: must be a string, not {kind(item)}")
    return value


def string(
    request: Mapping[str, Any], key: str, default: str | None = None, where: str = ""
) -> str:
    """A string; `default` where the key is absent or null and there is one."""
    value = request.get(key)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise RequestError(f"{where}{key}: must be a string, not {kind(value)}")
    return value


def number(
    request: Mapping[str, Any], key: str, least: float, most: float, *, whole: bool = False
) -> float | None:
    """A number from `least` to `most`; None where the key is absent or null."""
    value = request.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        what = "a whole number" if whole else "a number"
        given = value if isinstance(value, float) else kind(value)
        raise RequestError(f"{key}: must be {what}, not {given}")
    if not least <= value < math.inf:
        raise RequestError(f"{key}: must be a number of at least {least:g}, not {value}")
    if value > most:
        raise RequestError(f"{key}: must be a number of at most {most:g}, not {value}")
    return value


def mapping(request: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """An object, empty where the key is absent or null."""
    value = request.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise RequestError(f"{key}: must be an object, not {kind(value)}")
    return value


def kind(value: object) -> str:
    """The JSON type of a value, for messages."""
    kinds = {
        type(None): "null",
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "an object",
    }
    return kinds.get(type(value), type(value).__name__)
