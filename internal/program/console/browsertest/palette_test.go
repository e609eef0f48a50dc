package browsertest

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"
)

// frequent is the number of the 256 colours that are chosen by frequency alone. The other colours
// are chosen by frequency and by distance from the chosen colours: a state's few letters would
// otherwise lose their colour.
const frequent = 128

// fewColours reduces a picture to 256 colours: a page has few colours except at the edges of
// letters.
func fewColours(picture []byte) ([]byte, error) {
	decoded, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	bounds := decoded.Bounds()
	count := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA {
		r, g, b, _ := decoded.At(x, y).RGBA()
		return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255}
	}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	all := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	palette := color.Palette{}
	for _, c := range all[:min(len(all), frequent)] {
		palette = append(palette, c)
	}
	for len(palette) < min(len(all), 256) {
		palette = append(palette, slices.MaxFunc(all, func(a, b color.RGBA) int {
			return cmp.Compare(missed(palette, a)*count[a], missed(palette, b)*count[b])
		}))
	}
	index := map[color.RGBA]uint8{}
	for _, c := range all {
		index[c] = uint8(palette.Index(c))
	}
	few := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			few.SetColorIndex(x, y, index[at(x, y)])
		}
	}
	var small bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, few)
	return small.Bytes(), err
}

// missed returns the squared distance between a colour and the nearest chosen colour.
func missed(palette color.Palette, c color.RGBA) int {
	nearest := palette[palette.Index(c)].(color.RGBA) //nolint:forcetypeassert // the palette contains only this type
	square := func(a, b uint8) int { return (int(a) - int(b)) * (int(a) - int(b)) }
	return square(c.R, nearest.R) + square(c.G, nearest.G) + square(c.B, nearest.B)
}
