package lab

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
)

const fakeIronicHelp = `Plays an OpenStack Ironic with nodes that boot, clean, deploy and fail in scaled
time, for trying things out without hardware. It speaks enough of API 1.81 for
BMO's, gophercloud's and python-ironicclient's normal calls, and keeps everything
in memory until SIGTERM or SIGINT.

Below /fake/ it tells the truth that no client of Ironic can see (GET /fake/truth),
and takes faults on demand (POST /fake/faults).`

const fakeIronicExample = `  ironic-throttle-lab fake-ironic --nodes 200 --speed 60
  curl -s http://127.0.0.1:6385/fake/truth

  # a throttle beside it, and one of its hosts
  IRONIC_ENDPOINT=http://127.0.0.1:6385 ironic-throttle serve &
  ironic-throttle check ns-01/host-00001

  # Ironic is away for 30 s
  curl -d '{"trouble":"refuse","for":"30s"}' http://127.0.0.1:6385/fake/faults`

func (p *process) fakeIronicCommand() *cobra.Command {
	o := fakeironic.DefaultOptions()
	listen, readyFile := "", ""
	cmd := &cobra.Command{
		Use: "fake-ironic", Short: "play an Ironic without hardware",
		Long: fakeIronicHelp, Example: fakeIronicExample, Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.fakeIronic(cmd.Context(), o, listen, readyFile)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&listen, "listen", "127.0.0.1:6385", "`address` to listen on")
	fs.StringVar(&readyFile, "ready-file", "", cli.ReadyFileHelp)
	o.Flags(fs)
	return cmd
}

func (p *process) fakeIronic(ctx context.Context, o fakeironic.Options, listen, readyFile string) error {
	// package net would take "" and ":" for a free port on all interfaces.
	if _, port, err := net.SplitHostPort(listen); err != nil || port == "" {
		return fmt.Errorf("--listen %q: must be host:port, such as 127.0.0.1:6385 or 127.0.0.1:0", listen)
	}
	world, err := fakeironic.NewWorld(o, time.Now())
	if err != nil {
		return err
	}
	var open net.ListenConfig
	l, err := open.Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("--listen %q: %w", listen, err)
	}
	base := "http://" + l.Addr().String()
	at := struct {
		API   string `json:"api"`
		Admin string `json:"admin"`
	}{base + "/v1", base + "/fake/"}
	if err := cli.WriteReadyFile(readyFile, at); err != nil {
		_ = l.Close() // there are no clients yet
		return err
	}
	if p.JSON {
		err = p.PrintJSON(at)
	} else {
		const text = "Ironic:  %s (fake, %d nodes)\nadmin:   %s (truth, faults)\n"
		err = p.Print(fmt.Sprintf(text, at.API, o.Fleet.Nodes, at.Admin))
	}
	if err != nil {
		_ = l.Close()
		return err
	}
	if err := fakeironic.NewServer(world, time.Now).Serve(ctx, l); err != nil {
		return cli.Exit(cli.No, err)
	}
	return nil
}
