package holds

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// TestBO16_KeysOfALaterVersionStay: after a rollback the older program takes the ledger over and writes it. What the
// later one has kept under a key of its own is there when it comes back.
func TestBO16_KeysOfALaterVersionStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.save(d.open(), nil, everywhere(since)...)
		later := func(cm *corev1.ConfigMap) {
			cm.Data["order.json"] = `{"version":1}`
			cm.BinaryData = map[string][]byte{"order.gz": {1, 2, 3}}
		}
		const other = limitShard + 1
		d.edit(limitShard, later)
		d.edit(other, later)
		m := d.open()
		changed := []holdoff.Record{record(hosts(limitShard, 1)[0], since.Add(1)), record(hosts(other, 1)[0], since.Add(1))}
		d.save(m, nil, changed...)
		d.saveLimits(m, 30)
		for _, n := range []int{limitShard, other} {
			if cm := d.get(n); cm.Data["order.json"] != `{"version":1}` || !bytes.Equal(cm.BinaryData["order.gz"], []byte{1, 2, 3}) {
				t.Errorf("ConfigMap %d: %v %v", n, cm.Data, cm.BinaryData)
			}
		}
		d.limits(d.open(), limit(30))
	})
}

// TestHoldsComeBeforeKeysOfALaterVersion: whoever may write the ConfigMaps cannot push holds out.
func TestHoldsComeBeforeKeysOfALaterVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.save(d.open(), nil, everywhere(since)...)
		d.edit(0, func(cm *corev1.ConfigMap) { cm.Data["order.json"] = strings.Repeat("x", maxData-100) })
		m := d.open()
		d.holds(m, true, everywhere(since)...)
		if _, kept := d.get(0).Data["order.json"]; kept || d.says("WARN", "does not know, and no room") != 1 {
			t.Errorf("kept %v; log: %s", kept, &d.log)
		}
		d.holds(d.open(), true, everywhere(since)...)
	})
}
