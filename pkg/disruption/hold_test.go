package disruption

import "testing"

func TestDC24_DC26_WhatHolds(t *testing.T) {
	const one, many = "1 host that is not planned waits for a slot: nothing is carried out before it has one",
		"3 hosts that are not planned wait for slots: nothing is carried out before they have them"
	for want, throttle := range map[string]Throttle{
		"":   {Limit: 20},
		one:  {Waiting: 1},
		many: {Waiting: 3},
		"how Ironic stands is not known: its nodes were not read of late":                {Stale: true, Waiting: 3},
		"the breaker is not CLOSED: a, ironic":                                           {OpenBreakers: []string{"ironic", "a"}, Waiting: 3},
		"paused: rack-1":                                                                 {PausedGroups: []string{"rack-1"}},
		"the limit is 1: planned work leaves a slot free for others, so it never starts": {Limit: 1},
	} {
		if got := throttle.Hold(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
