package config

import (
	"bytes"
	"context"
	"errors"
	"time"
)

// watchEvery is how often Watch reads the file. viper's own watch ends the process where inotify has no
// instance left, takes files that are half written, and cannot be stopped.
const watchEvery = 5 * time.Second

// Update is what Watch found in the file.
type Update struct {
	Config   Config // in force from now on; the old one when Err is set
	Warnings []string
	Err      error
}

// Watch reads the config file every 5 s until ctx ends and calls apply, one call after the other, for each content that
// differs from the one before, the first time from the one that c was read from. A content counts when two reads in a
// row have found it, so that a file that is just being written does not. Without a config file it returns at once.
func Watch(ctx context.Context, c Config, src Sources, apply func(Update)) {
	if c.File == "" {
		return
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	src = src.filled()
	told, latest := c.FileText, c.FileText // or an error
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		body, err := src.ReadFile(c.File)
		if err == nil && len(bytes.TrimSpace(body)) == 0 {
			// It would bring all the defaults back, and is most likely one that somebody is about to write.
			err = errors.New("it is empty now: what was in force stays")
		}
		seen := string(body)
		if err != nil {
			seen = err.Error()
		}
		steady := seen == latest
		if latest = seen; steady && seen != told {
			told = seen
			found, u := src, Update{}
			found.ReadFile = func(string) ([]byte, error) { return body, err }
			u.Config, u.Warnings, u.Err = c.Reload(found)
			c = u.Config
			apply(u)
		}
	}
}
