package realironic

import (
	"context"
	"errors"
	"time"
)

// Change is a node that is in another state than before.
type Change struct {
	At         time.Time // of the sample that saw it
	UUID, Name string
	State      string // provision_state as the API has it; "" for a node that is gone
}

// Truth is what Ironic's own database says of its nodes, read every 50 ms.
type Truth struct{}

// WatchTruth starts to sample. The caller must call Stop, before the Ironic's.
func (i *Ironic) WatchTruth(ctx context.Context) (*Truth, error) { return nil, errors.ErrUnsupported }

// Changes are all changes until now, in their order. Nodes that were there when it began
// come first.
func (t *Truth) Changes() []Change { return nil }

// WorstGap is the longest time between two samples. A shorter state may have been missed.
func (t *Truth) WorstGap() time.Duration { return 0 }

// Stop ends the sampling. Its error tells what could not be sampled. A second call returns
// the same.
func (t *Truth) Stop() error { return nil }
