import zlib
data = bytearray(256 << 20)
print(zlib.crc32(data))
