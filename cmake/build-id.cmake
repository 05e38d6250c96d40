# A hash of the sources as `const char build_id[]`: a worker of another build is refused (tuner/wire.c).
set(all "")
string(REPLACE "|" ";" FILES "${FILES}")
foreach(path ${FILES})
  file(SHA256 ${path} hash)
  string(APPEND all "${hash}")
endforeach()
string(SHA256 id "${all}")
file(WRITE ${OUTPUT} "extern const char build_id[];\nconst char build_id[] = \"${id}\";\n")
