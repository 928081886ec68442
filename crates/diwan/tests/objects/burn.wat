;; A counter, of which two commands and a query never end. It asks for the most fuel. That lasts a fifth of a second; with calls of the
;; host, as `linger` makes them, for seconds.
(module
  (import "diwan_1" "caller" (func $caller (param i32 i32) (result i32)))
  (@custom "diwan.type" "{\"name\":\"burner\",\"methods\":{\"hit\":{\"kind\":\"command\"},\"burn\":{\"kind\":\"command\"},\"linger\":{\"kind\":\"command\"},\"look\":{\"kind\":\"query\"}},\"limits\":{\"fuel\":2000000000}}")
  (memory (export "memory") 1)
  (data (i32.const 16) "{\"value\":0}")
  (func (export "alloc") (param i32) (result i32) (i32.const 8192))
  (func (export "call") (param i32) (param $length i32) (param i32 i32) (result i64)
    (if (i32.eq (local.get $length) (i32.const 4)) (then (loop $on (br $on))))
    (if (i32.eq (local.get $length) (i32.const 6)) (then (loop $on (drop (call $caller (i32.const 4096) (i32.const 0))) (br $on))))
    (i32.store8 (i32.const 25) (i32.add (i32.load8_u (i32.const 25)) (i32.const 1)))
    (i64.const 0x10_0000_000b)))
