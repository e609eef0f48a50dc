package docs_test

import (
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mostPictures is the maximum total size of all pictures of the console, in bytes.
const mostPictures = 3 << 19 // 1.5 MiB

// The page about the console shows every picture that exists, and no others. The pictures show ten
// pages in light and dark mode, and four pages at the width of a phone. They take at most
// mostPictures bytes.
func TestPicturesAreThereAndSmall(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("console.md")
	require.NoError(t, err)
	named := regexp.MustCompile(`"(console/[a-z-]+\.png)"`).FindAllStringSubmatch(string(text), -1)
	var shown []string
	for _, name := range named {
		shown = append(shown, name[1])
	}
	slices.Sort(shown)
	there, err := filepath.Glob("console/*.png")
	require.NoError(t, err)
	require.Equal(t, there, slices.Compact(shown))
	count, bytes := map[string]int{}, int64(0)
	for _, path := range there {
		file, err := os.Open(path)
		require.NoError(t, err)
		picture, err := png.DecodeConfig(file)
		require.NoError(t, err, path)
		info, err := file.Stat()
		require.NoError(t, err)
		require.NoError(t, file.Close())
		bytes += info.Size()
		kind := path[strings.LastIndex(path, "-")+1:]
		count[kind]++
		want := 1280
		if kind == "phone.png" {
			want = 375
		}
		require.Equal(t, want, picture.Width, path)
	}
	require.Equal(t, map[string]int{"light.png": 10, "dark.png": 10, "phone.png": 4}, count)
	require.LessOrEqual(t, bytes, int64(mostPictures))
}
