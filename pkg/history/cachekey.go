package history

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"net/url"
	"slices"
	"strconv"
)

// cacheKey is one expression on one grid, asked of one server on behalf of one tenant. What has another key is never
// taken for it.
type cacheKey [sha256.Size]byte

// blockKey is one block of a key's grid.
type blockKey struct {
	cacheKey
	block int64
}

// keyOf hashes all that an answer depends on but its range: who asks, which server, and everything it is sent. The phase
// is where the grid stands between two multiples of the step, and quiet is whether hints were dropped.
func (x *extents) keyOf(tenant string, e *endpoint, form url.Values, phase int64, quiet bool) cacheKey {
	hash := sha256.New()
	add := func(text string) {
		// The length keeps apart what would be one text when put together.
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(text)))
		hash.Write(length[:])
		hash.Write([]byte(text))
	}
	add(x.options.CacheNamespace)
	add(tenant)
	add(e.ID)
	add(e.Cluster)
	add(e.URL)
	add(strconv.FormatInt(phase, 10))
	add(strconv.FormatBool(quiet))
	for _, name := range slices.Sorted(maps.Keys(form)) {
		if name == "start" || name == "end" || name == "timeout" {
			continue
		}
		add(name)
		for _, value := range form[name] {
			add(value)
		}
	}
	var key cacheKey
	hash.Sum(key[:0])
	return key
}

// remote is the key of a block in a cache that others share.
func (k blockKey) remote() string {
	return "warpwatch:" + strconv.Itoa(extentVersion) + ":" + hex.EncodeToString(k.cacheKey[:]) + ":" + strconv.FormatInt(k.block, 36)
}
