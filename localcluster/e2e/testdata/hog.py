"""Takes more memory than the driver's container has."""
held = [bytearray(64 << 20) for _ in range(64)]
print(len(held))
