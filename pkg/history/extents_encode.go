package history

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"unique"

	"github.com/klauspost/compress/s2"
)

// extentVersion is of the encoding below, and part of the keys: who knows another version does not see the values.
const extentVersion = 1

// A slab outside the process is a version byte, the CRC-32 (Castagnoli) of the rest, and the rest, compressed by S2:
// the key that it is for, from and to, until, and the runs. Numbers are varints. A run is its labels, its number of
// values, their ticks as first and then distances, 0 in front when there are no gaps and only first follows, and the
// values: each as the bits in which it differs from the one before, last byte first, so that zeros are at the top.

var errSlab = errors.New("not a block")

func encodeSlab(e *slab, key blockKey) []byte { return sealed(plainSlab(e, key)) }

// plainSlab is the encoding before it is compressed.
func plainSlab(e *slab, key blockKey) []byte {
	plain := make([]byte, 0, e.bytes()/2)
	plain = append(plain, key.cacheKey[:]...)
	for _, n := range []int64{key.block, e.from, e.to, e.until} {
		plain = binary.AppendVarint(plain, n)
	}
	plain = binary.AppendUvarint(plain, uint64(len(e.runs)))
	for _, r := range e.runs {
		labels := r.id.Value()
		plain = binary.AppendUvarint(plain, uint64(len(labels)))
		plain = append(plain, labels...)
		plain = binary.AppendUvarint(plain, uint64(len(r.values)))
		if r.at == nil {
			plain = binary.AppendUvarint(append(plain, 0), uint64(r.first))
		} else {
			plain = append(plain, 1)
			before := uint16(0)
			for _, tick := range r.at {
				plain = binary.AppendUvarint(plain, uint64(tick-before))
				before = tick
			}
		}
		before := uint64(0)
		for _, v := range r.values {
			now := math.Float64bits(v)
			plain = binary.AppendUvarint(plain, bits.ReverseBytes64(now^before))
			before = now
		}
	}
	return plain
}

// sealed compresses and adds the version and the sum.
func sealed(plain []byte) []byte {
	head := make([]byte, 5, 5+s2.MaxEncodedLen(len(plain)))
	body := s2.Encode(head[5:cap(head)], plain)
	head[0] = extentVersion
	binary.BigEndian.PutUint32(head[1:], crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
	return append(head, body...)
}

// decodeSlab reads what encodeSlab wrote for the key and refuses all else, and what takes more than limit bytes.
func decodeSlab(data []byte, key blockKey, limit int64) (*slab, error) {
	if len(data) < 5 || data[0] != extentVersion {
		return nil, fmt.Errorf("%w of version %d", errSlab, extentVersion)
	}
	if crc32.Checksum(data[5:], crc32.MakeTable(crc32.Castagnoli)) != binary.BigEndian.Uint32(data[1:]) {
		return nil, fmt.Errorf("%w: its sum is wrong", errSlab)
	}
	if length, err := s2.DecodedLen(data[5:]); err != nil || int64(length) > 2*limit {
		return nil, fmt.Errorf("%w: its length is wrong", errSlab)
	}
	plain, err := s2.Decode(nil, data[5:])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSlab, err)
	}
	d := slabReader{rest: plain, left: limit}
	e := d.slab(key)
	if d.failed || len(d.rest) > 0 {
		return nil, errSlab
	}
	return e, nil
}

// slabReader reads a slab; after the first thing that cannot be, it has failed.
type slabReader struct {
	rest   []byte
	left   int64 // bytes that the extent may yet take
	failed bool
}

func (d *slabReader) slab(key blockKey) *slab {
	if string(d.bytes(len(key.cacheKey))) != string(key.cacheKey[:]) || d.varint() != key.block {
		d.failed = true
		return nil
	}
	e := &slab{from: d.varint(), to: d.varint(), until: d.varint()}
	if e.from > e.to || blockOf(e.from) != key.block || blockOf(e.to) != key.block {
		d.failed = true
		return nil
	}
	e.sent = e.ticks()
	seen := map[seriesID]bool{}
	for range d.count(uint64(len(d.rest))) {
		r := d.run(int(e.ticks()))
		if d.failed || seen[r.id] {
			d.failed = true
			return nil
		}
		seen[r.id] = true
		e.runs = append(e.runs, r)
	}
	return e
}

func (d *slabReader) run(ticks int) run {
	labels := string(d.bytes(d.count(uint64(len(d.rest)))))
	set, ok := readLabels(labels, nil)
	for i := 1; i < len(set); i++ {
		ok = ok && set[i-1].Name < set[i].Name
	}
	count := d.count(uint64(ticks))
	d.left -= int64(runBytes + len(labels) + 10*count)
	if !ok || count == 0 || d.left < 0 {
		d.failed = true
	}
	if d.failed {
		return run{}
	}
	r := run{id: unique.Make(labels)}
	switch d.count(1) {
	case 0:
		r.first = d.count(uint64(ticks - count))
	default:
		r.at = make([]uint16, count)
		tick := 0
		for i := range r.at {
			distance := d.count(uint64(ticks))
			if tick += distance; i > 0 && distance == 0 || tick >= ticks {
				d.failed = true
				return run{}
			}
			r.at[i] = uint16(tick)
		}
		r.first = int(r.at[0])
	}
	r.values = make([]float64, count)
	before := uint64(0)
	for i := range r.values {
		before ^= bits.ReverseBytes64(d.uvarint())
		r.values[i] = math.Float64frombits(before)
	}
	return r
}

func (d *slabReader) bytes(n int) []byte {
	if d.failed || n > len(d.rest) {
		d.failed = true
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *slabReader) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if d.failed || n <= 0 {
		d.failed = true
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *slabReader) varint() int64 {
	v, n := binary.Varint(d.rest)
	if d.failed || n <= 0 {
		d.failed = true
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// count is a number up to most.
func (d *slabReader) count(most uint64) int {
	n := d.uvarint()
	if n > most {
		d.failed = true
		return 0
	}
	return int(n)
}
