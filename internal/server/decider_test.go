package server

import "github.com/ironic-throttle/ironic-throttle/pkg/admission"

var _ Decider = (*admission.Controller)(nil)
