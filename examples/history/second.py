import hashlib, zlib
data = bytearray(256 << 20)
print(zlib.crc32(data), hashlib.sha512(data).hexdigest())
