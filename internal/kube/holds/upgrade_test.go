package holds

import (
	"bytes"
	"slices"
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

// TestBO16_RecordsOfALaterVersionHold: a host of which the older program cannot read the record is held from its start
// on, and what the later one wrote is kept.
func TestBO16_RecordsOfALaterVersionHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.save(d.open(), nil, everywhere(since)...)
		uuid := hosts(3, 2)[1]
		line := `{"version":2,"uuid":"` + uuid + `","until":"2030-01-01T00:00:00Z"}`
		d.edit(3, func(cm *corev1.ConfigMap) { cm.Data[keyText] += line + "\n" })
		m := d.open()
		records, known, err := m.Load()
		at := slices.IndexFunc(records, func(r holdoff.Record) bool { return r.UUID == uuid })
		if err != nil || known || at < 0 || len(records) != len(everywhere(since))+1 || records[at].Episodes[0].Released {
			t.Errorf("%+v, known %v, %v", records, known, err)
		}
		kept, err := unpack(d.get(3).BinaryData[keyAside], maxUnpacked)
		if err != nil || !strings.Contains(string(kept), line) || d.says("ERROR", "of a later version") != 1 {
			t.Errorf("kept %q, %v; log: %s", kept, err, &d.log)
		}
		_ = m.Close()
		if again, known, err := d.open().Load(); err != nil || !known || len(again) != len(records) {
			t.Errorf("%+v, known %v, %v", again, known, err)
		}
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
