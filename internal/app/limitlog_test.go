package app

import (
	"testing"
	"time"
)

// TestSZ8_AnAdaptiveLimitIsNeverAboveItsCeiling, which the file changes; the log says so.
func TestSZ8_AnAdaptiveLimitIsNeverAboveItsCeiling(t *testing.T) {
	t.Setenv("IRONIC_THROTTLE_LIMIT_MODE", "adaptive")
	file, fromFile := fileOf(t, "maxConcurrentProvisioningHosts: 60")
	play(t, fromFile, func(s *stage) {
		s.pass(70 * time.Second)
		pool := s.app.controller.Sizing(time.Now()).Pools[0]
		if pool.Ceiling != 60 || pool.Limit < 1 || pool.Limit > 60 {
			t.Fatalf("at first: %+v", pool)
		}
		if shown := s.app.Status().Sizing; shown.Mode != "adaptive" || shown.Pools[0] != pool {
			t.Errorf("the status shows %+v, not %+v", shown, pool)
		}
		lower := "maxConcurrentProvisioningHosts: 3"
		file.Store(&lower)
		s.pass(20 * time.Second)
		if st := s.app.Status(); st.Slots.Total.Limit != 3 || st.Sizing.Pools[0].Limit != 3 || st.Sizing.Pools[0].Ceiling != 3 {
			t.Errorf("%+v, %+v", st.Slots.Total, st.Sizing.Pools[0])
		}
		if n := s.log.count("the limit has changed", "is=3", "atMost=3", `why="no more are set"`); n != 1 {
			t.Errorf("%d lines about it: %s", n, s.log.text.String())
		}
	})
}
