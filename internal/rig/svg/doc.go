// Package svg draws sheets of plots as SVG text: a heading, and below it rows of
// plots with axes, ticks and a legend. The same sheet gives the same bytes.
//
// Lengths are points. The background is white, whatever the page around it, so
// colours must be dark enough for white.
//
// Nothing here measures a real font: widths are those of Liberation Sans, which are
// Arial's and Helvetica's too, and the layout leaves slack for a wider one.
package svg
