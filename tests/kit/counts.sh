#!/usr/bin/env bash
# Counts of the tree by which its size and its language are judged: signs, and no aim by themselves.
#
#   bash tests/kit/counts.sh
#
# Tests are left out: files named tests.rs or something_tests.rs, in a directory named tests, and what follows #[cfg(test)] in a file.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

find operators -name '*.rs' ! -name tests.rs ! -name '*_tests.rs' ! -path '*/tests/*' | sort >"$work/files"
# The code of a file up to its tests.
while read -r file; do
  printf '\n// FILE %s\n' "$file"
  awk '/^#\[cfg\(test\)\]/ { held = $0; next } held != "" { if (/^mod / && /\{/) exit; if (!/^mod .*;/) print held; held = "" ; if (/^mod .*;/) next } { print }' "$file"
done <"$work/files" >"$work/code"

files=$(wc -l <"$work/files")
lines=$(grep -vcE '^\s*(//|$)' "$work/code")
printf 'library files                      %s\n' "$files"
printf 'lines of code                      %s, %s a file\n' "$lines" $((lines / files))

# Every declaration with its file.
awk '/^\/\/ FILE / { file = $3 }
  match($0, /^(pub(\([^)]*\))? )?(struct|enum|trait|type|union) [A-Z][A-Za-z0-9]*/) {
    n = split(substr($0, RSTART, RLENGTH), words, " "); print words[n], file }' "$work/code" | sort -u >"$work/types"
declared=$(wc -l <"$work/types")
# A type that is declared again is found in another file too.
again=$(awk '{ files[$1]++ } END { for (name in files) if (files[name] > 1) n += files[name]; print n + 0 }' "$work/types")
one=$(awk '{ inner = substr($1, 2); if (inner !~ /[A-Z]/) n++ } END { print n + 0 }' "$work/types")
percent() { awk -v part="$1" -v whole="$2" 'BEGIN { printf "%.1f%%", whole ? 100 * part / whole : 0 }'; }
printf 'type declarations                  %s\n' "$declared"
printf '  whose name another file declares %s (%s)\n' "$again" "$(percent "$again" "$declared")"
printf '  of one word                      %s (%s)\n' "$one" "$(percent "$one" "$declared")"

# The first line of each comment on an item.
awk '/^\/\/ FILE / { before = "" } { if (/^[ \t]*\/\/\/ / && before !~ /^[ \t]*\/\/\//) print; before = $0 }' "$work/code" |
  sed -E 's/^[ \t]*\/\/\/ //' >"$work/docs"
docs=$(wc -l <"$work/docs")
relative=$(grep -cE '^(What|How|Whether|Which|Who|Whom|Whose|When|Where|Why|That)\b' "$work/docs" || true)
printf 'comments on items                  %s\n' "$docs"
printf '  that open with a relative word   %s (%s)\n' "$relative" "$(percent "$relative" "$docs")"

grep -hE '^\s*//' "$work/code" | tr -cs 'A-Za-z' '\n' | grep -E '.' >"$work/words"
words=$(wc -l <"$work/words")
told=$(grep -cix told "$work/words" || true)
printf '"told" in 10,000 words of comments %s\n' "$(awk -v n="$told" -v all="$words" 'BEGIN { printf "%.1f", 10000 * n / all }')"
