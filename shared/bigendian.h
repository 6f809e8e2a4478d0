/*
 * bigendian.h - integers as they stand in the stream, byte by byte.
 */
#ifndef SLUICE_BIGENDIAN_H
#define SLUICE_BIGENDIAN_H

#include <stdint.h>

static inline void put_u32(uint8_t *out, uint32_t value)
{
	out[0] = (uint8_t)(value >> 24);
	out[1] = (uint8_t)(value >> 16);
	out[2] = (uint8_t)(value >> 8);
	out[3] = (uint8_t)value;
}

static inline uint32_t get_u32(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static inline void put_u64(uint8_t *out, uint64_t value)
{
	put_u32(out, (uint32_t)(value >> 32));
	put_u32(out + 4, (uint32_t)value);
}

static inline uint64_t get_u64(const uint8_t *bytes)
{
	return (uint64_t)get_u32(bytes) << 32 | get_u32(bytes + 4);
}

#endif
