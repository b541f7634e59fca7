// Command ironic-throttle-lab tries ironic-throttle out without hardware.
package main

import (
	"os"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/lab"
)

func main() { os.Exit(lab.Main()) }
