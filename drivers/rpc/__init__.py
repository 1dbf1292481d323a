"""Unary gRPC calls over one TCP connection: both ends, without threads that pass a call on (decision 0050).

status      how a call fails
headers     header blocks of HTTP/2
connection  one end of a connection, without its socket
channel     the end that calls
server      the end that answers
"""
