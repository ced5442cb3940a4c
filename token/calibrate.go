package token

import (
	"slices"

	"github.com/pemmican-dev/pemmican"
)

// Calibration is what the sizes that a provider has reported say about a counter: reported = overhead + ratio ×
// counted.
type Calibration struct {
	// Overhead is what every request carries beside the transcript, system text and tools mostly, in the model's
	// tokens. Its source is "estimated", or "unknown" where nothing was reported: unknown is not zero.
	Overhead pemmican.Overhead
	// Ratio is what one token of the counter is in the model's tokens, media apart; 1 where the points do not tell. It
	// is meant for Estimator.Ratio.
	Ratio float64
	// Points is how many reported sizes the fit stands on.
	Points int
}

const (
	fewPoints  = 8     // with fewer the slope is noise
	leastSpan  = 4_000 // tokens: over less growth the slope is noise, too
	ratioLeast = 0.7   // no vocabulary in use is further from o200k_base than these,
	ratioMost  = 1.6   // on a whole transcript
	mostPoints = 160   // a fit over more, evenly chosen, is no better

	// dropShare and dropTokens say what a sharp drop is: reasoning of finished turns, which providers leave out,
	// makes small ones; a compaction makes a big one.
	dropShare  = 0.75
	dropTokens = 4_000

	// overheadPlausible is an overhead, in tokens, that is believed even behind a summary: agents with many tools
	// were seen to come with 65,000.
	overheadPlausible = 100_000
)

// point is one reported size: tokens counted up to there, media apart, and tokens reported, media apart.
type point struct{ counted, reported float64 }

// Calibrate fits the counter to the sizes that the provider has reported with the assistant messages of t
// (Message.Usage), each against the sum of the blocks up to there. A nil counter is an Estimator; one with a ratio of
// its own is taken as it counts.
//
// A size that was reported before a compaction tells of text that is no longer in t: formats leave it out
// (Message.Usage), and of what they do not know only what follows the last sharp drop counts, and a fit behind a summary
// that leaves most of the context unexplained is refused as unknown. Few points, or little growth between them, give a
// ratio of 1 and the median of what is left over; many give a robust line. Time is linear in t.
func Calibrate(t *pemmican.Transcript, c pemmican.Counter) Calibration {
	unknown := Calibration{Overhead: pemmican.Overhead{Source: "unknown"}, Ratio: 1}
	if c == nil {
		c = Estimator{}
	}
	points, summarised := collect(t, c)
	points = current(points)
	if len(points) == 0 {
		return unknown
	}
	ratio, overhead := fitLine(sample(points))
	if last := points[len(points)-1]; summarised && overhead > max(overheadPlausible, last.counted) {
		return unknown
	}
	return Calibration{
		Overhead: pemmican.Overhead{Tokens: int(overhead + 0.5), Source: "estimated"},
		Ratio:    ratio,
		Points:   len(points),
	}
}

// collect returns the reported sizes in order, and whether t holds a summary.
func collect(t *pemmican.Transcript, c pemmican.Counter) (points []point, summarised bool) {
	var counted, media float64
	if t.Tools != "" {
		counted = float64(c.Count(&pemmican.Block{Text: t.Tools}))
	}
	for i := range t.Messages {
		m := &t.Messages[i]
		for j := m.First; j < m.End; j++ {
			b := &t.Blocks[j]
			n := float64(c.Count(b))
			if b.Kind == pemmican.Media {
				media += n
			} else {
				counted += n
			}
			summarised = summarised || b.Kind == pemmican.Summary
		}
		if m.Role == pemmican.Assistant && m.Usage > 0 {
			points = append(points, point{counted, max(0, float64(m.Usage)-media)})
		}
	}
	return points, summarised
}

// current leaves out what was reported before the last sharp drop, and dips of a single point: a call beside the
// conversation that the file reports as one of it.
func current(points []point) []point {
	out := make([]point, 0, len(points))
	high := 0.0
	low := func(p point) bool { return p.reported < high*dropShare && high-p.reported > dropTokens }
	for i, p := range points {
		if low(p) {
			if i+1 < len(points) && !low(points[i+1]) {
				continue
			}
			out, high = out[:0], 0
		}
		out = append(out, p)
		high = max(high, p.reported)
	}
	return out
}

// sample returns at most mostPoints of points, evenly chosen, the last one among them.
func sample(points []point) []point {
	if len(points) <= mostPoints {
		return points
	}
	out := make([]point, mostPoints)
	for i := range out {
		out[i] = points[i*(len(points)-1)/(mostPoints-1)]
	}
	return out
}

// fitLine returns the line through points: the median of the slopes between those that lie far enough apart (Theil and
// Sen), so that a few wrong reports change nothing, and the median of what is left over.
func fitLine(points []point) (ratio, overhead float64) {
	first, last := points[0], points[len(points)-1]
	span := last.counted - first.counted
	ratio = 1
	if len(points) >= fewPoints && span >= leastSpan && span >= last.counted/4 {
		var slopes []float64
		for i, p := range points {
			for _, q := range points[i+1:] {
				if d := q.counted - p.counted; d >= span/4 {
					slopes = append(slopes, (q.reported-p.reported)/d)
				}
			}
		}
		ratio = clampRatio(median(slopes))
		if overhead = leftOver(points, ratio); overhead < 0 {
			// Less than nothing cannot be: then the line goes through the origin.
			shares := make([]float64, 0, len(points))
			for _, p := range points {
				if p.counted > 0 {
					shares = append(shares, p.reported/p.counted)
				}
			}
			ratio = clampRatio(median(shares))
		}
	}
	return ratio, max(0, leftOver(points, ratio))
}

// leftOver is the median of what ratio leaves unexplained.
func leftOver(points []point, ratio float64) float64 {
	rest := make([]float64, len(points))
	for i, p := range points {
		rest[i] = p.reported - ratio*p.counted
	}
	return median(rest)
}

func clampRatio(r float64) float64 { return min(max(r, ratioLeast), ratioMost) }

// median sorts values, of which there is at least one.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
