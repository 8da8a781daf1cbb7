package plugin

import (
	"maps"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/history"
)

// explainMeta is what the query editor's explanation tells beside what was asked.
type explainMeta struct {
	Cached cachedMeta `json:"cached"`
}

// cachedMeta is how many steps of range queries came from the cache, of how many that the answer needed from all servers.
type cachedMeta struct {
	Steps int64 `json:"steps"`
	Of    int64 `json:"of"`
}

// explain puts into the first frame that has room for it how much of the answer came from the cache. Answers without range
// queries have nothing to tell.
func explain(frames data.Frames, t *history.Tally) {
	cached, asked := t.Steps()
	if asked == 0 {
		return
	}
	for _, frame := range frames {
		if frame.Meta == nil {
			frame.Meta = &data.FrameMeta{}
		}
		custom, ok := frame.Meta.Custom.(map[string]any)
		if !ok && frame.Meta.Custom != nil {
			continue
		}
		// Frames of one answer may have one map.
		custom = maps.Clone(custom)
		if custom == nil {
			custom = map[string]any{}
		}
		custom["explain"] = explainMeta{Cached: cachedMeta{Steps: cached, Of: asked}}
		frame.Meta.Custom = custom
		return
	}
}
