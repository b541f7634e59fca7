package slots

import "slices"

// fetchList holds the hosts whose nodes the next polls fetch because somebody asked about
// them (LH-16), oldest first. A host leaves the list when its wanted becomes false; next and
// tidy remove it later.
type fetchList []*host

// add puts h at the end of the list.
func (f *fetchList) add(h *host) {
	if !h.wanted {
		h.wanted = true
		*f = append(*f, h)
	}
}

// next appends the keys of the first hosts until there are maxWanted of them. These hosts
// go to the end of the list, so that one that cannot be fetched does not delay the others.
func (f *fetchList) next(keys []string) []string {
	var again []*host
	taken := 0
	for _, h := range *f {
		if len(keys) >= maxWanted {
			break
		}
		taken++
		if !h.wanted {
			continue
		}
		again = append(again, h)
		if !slices.Contains(keys, h.key()) {
			keys = append(keys, h.key())
		}
	}
	*f = append(slices.Delete(*f, 0, taken), again...)
	return keys
}

// tidy takes off the hosts that are not wanted any more, so that their memory is freed.
func (f *fetchList) tidy() {
	*f = slices.DeleteFunc(*f, func(h *host) bool { return !h.wanted })
}
