package realironic

import (
	"errors"
	"time"
)

// APICPU is the CPU time, user and system, that the API and its workers have used since
// the API's start.
func (i *Ironic) APICPU() (time.Duration, error) { return 0, errors.ErrUnsupported }

// LimitAPI lets the running API and its workers use so many cores at most, until undo or
// the API's end.
func (i *Ironic) LimitAPI(cores float64) (undo func(), err error) { return nil, errors.ErrUnsupported }
