"""The header of a LAS or LAZ file, held against the size of the file before a reader believes its counts.

Source: ASPRS, LAS Specification 1.4 - R15, table 3.
"""

from __future__ import annotations

import struct

# By version: the least size of the header.
_SIZES = {(1, 0): 227, (1, 1): 227, (1, 2): 227, (1, 3): 235, (1, 4): 375}
_LEAST_RECORD = (20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67)
_VLR, _EVLR = 54, 60


def check_las(content: bytes) -> int:
    """The number of points of a LAS or LAZ file.

    Args:
        content: of the file.

    Raises:
        ValueError: what the header says does not fit into the file; all of it is named.
    """
    if len(content) < 227:
        raise ValueError(f"{len(content)} bytes; a header of 227 or more")
    version = (content[24], content[25])
    size, data, vlrs = struct.unpack_from("<HII", content, 94)
    kind, record, count = struct.unpack_from("<BHI", content, 104)
    packed, kind = kind & 0xC0, kind & 0x3F
    if version not in _SIZES or size < _SIZES[version] or len(content) < size or kind >= len(_LEAST_RECORD):
        raise ValueError(
            f"version {version[0]}.{version[1]}, a header of {size} bytes, point format {kind}; LAS 1.0 to 1.4"
        )
    wrong = []
    if version == (1, 4):
        first, evlrs, long_count = struct.unpack_from("<QIQ", content, 235)
        count = long_count or count
        if evlrs and first + _EVLR * evlrs > len(content):
            wrong.append(f"{evlrs} records after the points")
    if size + _VLR * vlrs > min(data, len(content)):
        wrong.append(f"{vlrs} records before the points")
    if record < _LEAST_RECORD[kind]:
        wrong.append(f"points of {record} bytes")
    points_end = data + (min(count, 1) if packed else count * record)
    if points_end > len(content):
        wrong.append(f"{count} points")
    if wrong:
        raise ValueError(
            f"a header with {', '.join(wrong)}, in a file of {len(content)} bytes; a file that is not cut off"
        )
    return int(count)
