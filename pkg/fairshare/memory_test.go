package fairshare

import (
	"reflect"
	"testing"
)

// 100,000 hosts may wait, and a search in the tree goes through many: see the order of
// the fields. What only those need that are called or hold a slot belongs to stake.
func TestAHostFillsThreeCacheLines(t *testing.T) {
	host := reflect.TypeFor[Host]()
	if size := host.Size(); size > 192 {
		t.Errorf("a host takes %d bytes, want at most 192", size)
	}
	if field, _ := host.FieldByName("lastAsk"); field.Offset != 64 {
		t.Errorf("what a search looks at takes %d bytes, want 64", field.Offset)
	}
}
