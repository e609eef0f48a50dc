package report

import "github.com/hooklatch/hooklatch/internal/spread"

// fasterNaive returns the faster variant of the naive pattern. Hooklatch is compared with this
// variant.
func (r *Report) fasterNaive() string {
	if median(r.values(SectionAccept, Naive, Rate)) > median(r.values(SectionAccept, NaiveWithoutGIN, Rate)) {
		return Naive
	}
	return NaiveWithoutGIN
}

// sum adds up quantities of one subject, round by round. It returns nil if the quantities have
// different numbers of values.
func (r *Report) sum(section, who string, quantities ...Quantity) []float64 {
	var sums []float64
	for i, quantity := range quantities {
		values := r.values(section, who, quantity)
		if i == 0 {
			sums = make([]float64, len(values))
		}
		if len(values) != len(sums) {
			return nil
		}
		for j, value := range values {
			sums[j] += value
		}
	}
	return sums
}

// ratio divides values of the same round. It returns nil if a divisor is 0.
func ratio(of, by []float64) []float64 {
	var ratios []float64
	for i := range min(len(of), len(by)) {
		if by[i] == 0 {
			return nil
		}
		ratios = append(ratios, of[i]/by[i])
	}
	return ratios
}

func minus(of []float64, less float64) []float64 {
	var left []float64
	for _, value := range of {
		left = append(left, value-less)
	}
	return left
}

// Outcome is a goal and its result.
type Outcome struct {
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Want    float64 `json:"want"`
	AtLeast bool    `json:"at_least"`
	From    string  `json:"from"`
	// Measured reports whether this run measured the scenarios of the goal. Otherwise the values
	// are 0.
	Measured bool    `json:"measured"`
	Median   float64 `json:"median"`
	Low      float64 `json:"low"` // the spread's bounds
	High     float64 `json:"high"`
	// Met is true if the median reaches the goal. Sure is true if there are enough rounds, and Low
	// and High lie on one side of the goal.
	Met  bool `json:"met"`
	Sure bool `json:"sure"`
	// Broken is true if not even the loose bound of a quick run holds.
	Broken bool `json:"broken"`
}

// Judge compares the measurements with every goal.
func (r *Report) Judge() {
	r.Goals = nil
	for _, goal := range Goals() {
		o := Outcome{Name: goal.Name, Unit: goal.Unit, Want: goal.Want, AtLeast: goal.AtLeast, From: goal.From}
		if values := goal.of(r); len(values) > 0 {
			s := spread.Of(values)
			o.Measured, o.Median, o.Low, o.High = true, s.Median, s.Low, s.High
			o.Met, o.Sure = s.Reaches(goal.Want, goal.AtLeast), s.Excludes(goal.Want)
			o.Broken = r.Quick && goal.Loose != 0 && !s.Reaches(goal.Loose, goal.AtLeast)
		}
		r.Goals = append(r.Goals, o)
	}
}

// Broken returns the goals for which not even the loose bound of a quick run holds.
func (r *Report) Broken() []Outcome {
	var broken []Outcome
	for _, o := range r.Goals {
		if o.Broken {
			broken = append(broken, o)
		}
	}
	return broken
}
