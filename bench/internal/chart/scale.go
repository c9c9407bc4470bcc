package chart

import (
	"math"
	"strconv"
)

// scale places a value between two coordinates.
type scale struct {
	from, to float64 // values
	a, b     float64 // coordinates
	log      bool
}

func (s scale) at(v float64) float64 {
	from, to := s.from, s.to
	if s.log {
		v, from, to = math.Log10(max(v, s.from)), math.Log10(from), math.Log10(to)
	}
	return s.a + (s.b-s.a)*(v-from)/(to-from)
}

// linear is a scale from 0 to at least most, with some five round ticks.
func linear(most, a, b float64) (scale, []float64) {
	if most <= 0 {
		most = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(most/5)))
	for _, f := range []float64{1, 2, 5, 10} {
		if most/(step*f) <= 6 {
			step *= f
			break
		}
	}
	n := math.Ceil(most / step)
	var ticks []float64
	for i := 0.0; i <= n; i++ {
		ticks = append(ticks, i*step)
	}
	return scale{from: 0, to: n * step, a: a, b: b}, ticks
}

// decades is a logarithmic scale over the powers of ten around least and most.
func decades(least, most, a, b float64) (scale, []float64) {
	from, to := math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	if to <= from {
		to = from + 1
	}
	var ticks []float64
	for e := from; e <= to; e++ {
		ticks = append(ticks, math.Pow(10, e))
	}
	return scale{from: math.Pow(10, from), to: math.Pow(10, to), a: a, b: b, log: true}, ticks
}

// short writes a number for an axis: 0.1, 20, 1.5k, 150k.
func short(v float64) string {
	unit := ""
	if v >= 1000 {
		v, unit = v/1000, "k"
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return strconv.FormatFloat(v, 'f', -1, 64) + unit
}
