  (import "diwan_1" "park" (func $park (param i64 i64) (result i64)))
  (import "diwan_1" "wake" (func $wake (param i64 i32 i32) (result i32)))
  (import "diwan_1" "fail" (func $fail (param i64 i32 i32 i32 i32) (result i32)))
  (import "diwan_1" "timer_set" (func $timer_set (param i64 i64)))
  (import "diwan_1" "send" (func $send (param i32 i32 i32 i32 i32 i32)))
  (memory (export "memory") 1 64)
  ;; Where the text that is being written ends.
  (global $out (mut i32) (i32.const 512))
  (data (i32.const 16) "{\"value\":")
  (data (i32.const 32) ",\"runs\":")
  (data (i32.const 48) ",\"version\":")
  (data (i32.const 64) ",\"expired\":")
  (data (i32.const 80) "{\"got\":")
  (data (i32.const 96) "{\"s\":[")
  (data (i32.const 112) "not-today")
  (data (i32.const 128) "not JSON")
  (data (i32.const 144) "{\"woken\":")
  (data (i32.const 160) "full")
  (data (i32.const 176) ",\"fired\":")
  (data (i32.const 192) ",\"kept\":")
  (data (i32.const 208) ",\"chain\":")

  (func (export "alloc") (param i32) (result i32) (i32.const 8192))

  ;; A word of the state. 0: the value; 1: successful calls; 2: sessions that ended; 3: timers that fired; 4: how many tickets
  ;; there are; from 5 on: the tickets; 13: a number that tells in which order others were added.
  (func $place (param $word i32) (result i32)
    (i32.add (i32.const 4096) (i32.shl (local.get $word) (i32.const 3))))
  (func $word (param $word i32) (result i64) (i64.load (call $place (local.get $word))))
  (func $set (param $word i32) (param $to i64) (i64.store (call $place (local.get $word)) (local.get $to)))
  (func $raise (param $word i32) (param $by i64)
    (call $set (local.get $word) (i64.add (call $word (local.get $word)) (local.get $by))))

  (func $is_digit (param $at i32) (result i32)
    (i32.lt_u (i32.sub (i32.load8_u (local.get $at)) (i32.const 48)) (i32.const 10)))
  ;; The first number from there on, 0 if there is none; and where it ends.
  (func $number (param $at i32) (param $end i32) (result i64 i32)
    (local $number i64)
    (block $found (loop $next
      (if (i32.ge_u (local.get $at) (local.get $end)) (then (return (i64.const 0) (local.get $end))))
      (br_if $found (call $is_digit (local.get $at)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br $next)))
    (loop $next
      (local.set $number (i64.add (i64.mul (local.get $number) (i64.const 10))
        (i64.extend_i32_u (i32.sub (i32.load8_u (local.get $at)) (i32.const 48)))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $next (i32.and (i32.lt_u (local.get $at) (local.get $end)) (call $is_digit (local.get $at)))))
    (local.get $number) (local.get $at))
  (func $argument (param $at i32) (param $length i32) (result i64)
    (call $number (local.get $at) (i32.add (local.get $at) (local.get $length)))
    drop)

  (func $begin (global.set $out (i32.const 512)))
  (func $byte (param $byte i32)
    (i32.store8 (global.get $out) (local.get $byte))
    (global.set $out (i32.add (global.get $out) (i32.const 1))))
  (func $text (param $at i32) (param $length i32)
    (memory.copy (global.get $out) (local.get $at) (local.get $length))
    (global.set $out (i32.add (global.get $out) (local.get $length))))
  (func $digits (param $number i64)
    (if (i64.ge_u (local.get $number) (i64.const 10))
      (then (call $digits (i64.div_u (local.get $number) (i64.const 10)))))
    (call $byte (i32.add (i32.const 48) (i32.wrap_i64 (i64.rem_u (local.get $number) (i64.const 10))))))
  (func $length (result i32) (i32.sub (global.get $out) (i32.const 512)))
  (func $given (result i64) (i64.or (i64.const 0x200_0000_0000) (i64.extend_i32_u (call $length))))
  (func $end (result i64) (call $byte (i32.const 125)) (call $given))

  (func $shown (result i64)
    (call $begin)
    (call $text (i32.const 16) (i32.const 9)) (call $digits (call $word (i32.const 0)))
    (call $text (i32.const 32) (i32.const 8)) (call $digits (call $word (i32.const 1)))
    (call $text (i32.const 48) (i32.const 11)) (call $digits (global.get $version))
    (call $text (i32.const 64) (i32.const 11)) (call $digits (call $word (i32.const 2)))
    (call $text (i32.const 176) (i32.const 9)) (call $digits (call $word (i32.const 3)))
    (call $text (i32.const 192) (i32.const 8)) (call $digits (call $word (i32.const 4)))
    (call $text (i32.const 208) (i32.const 9)) (call $digits (call $word (i32.const 13)))
    (call $end))

  ;; Sends a message with a number. Its form has 64 bytes: where it goes, its method, and what stands before the number, each
  ;; behind its length.
  (func $message (param $form i32) (param $number i64)
    (local $at i32)
    (local.set $at (i32.add (i32.const 1024) (i32.shl (local.get $form) (i32.const 6))))
    (call $begin)
    (call $text (i32.add (local.get $at) (i32.const 49)) (i32.load8_u offset=48 (local.get $at)))
    (call $digits (local.get $number))
    (drop (call $end))
    (call $send
      (i32.add (local.get $at) (i32.const 1)) (i32.load8_u (local.get $at))
      (i32.add (local.get $at) (i32.const 33)) (i32.load8_u offset=32 (local.get $at))
      (i32.const 512) (call $length)))

  (func $chain (param $number i64)
    (call $set (i32.const 13) (i64.rem_u
      (i64.add (i64.mul (call $word (i32.const 13)) (i64.const 31)) (i64.mul (local.get $number) (global.get $version)))
      (i64.const 1000003))))

  ;; Passes itself on to another object, with a smaller number.
  (func $echo (param $number i64)
    (call $chain (local.get $number))
    (if (i64.ne (local.get $number) (i64.const 0)) (then
      (call $message
        (i32.add (global.get $echo) (i32.and (i32.wrap_i64 (local.get $number)) (i32.const 1)))
        (i64.sub (local.get $number) (i64.const 1))))))

  (func $refuse (param $code i32) (param $length i32)
    (drop (call $fail (i64.const 0) (local.get $code) (local.get $length) (i32.const 0) (i32.const 0))))

  ;; The ticket of that number is none any more.
  (func $drop_ticket (param $index i32)
    (call $raise (i32.const 4) (i64.const -1))
    (loop $next
      (if (i64.lt_u (i64.extend_i32_u (local.get $index)) (call $word (i32.const 4)))
        (then
          (call $set (i32.add (local.get $index) (i32.const 5)) (call $word (i32.add (local.get $index) (i32.const 6))))
          (local.set $index (i32.add (local.get $index) (i32.const 1)))
          (br $next))))
    (call $set (i32.add (local.get $index) (i32.const 5)) (i64.const 0)))

  ;; Wakes the oldest call that still waits with a number. Its ticket; 0 if none does.
  (func $wake_one (param $got i64) (result i64)
    (local $index i32) (local $ticket i64)
    (call $begin)
    (call $text (i32.const 80) (i32.const 7)) (call $digits (local.get $got)) (drop (call $end))
    (loop $next
      (if (i64.ge_u (i64.extend_i32_u (local.get $index)) (call $word (i32.const 4)))
        (then (return (i64.const 0))))
      (local.set $ticket (call $word (i32.add (local.get $index) (i32.const 5))))
      (if (call $wake (local.get $ticket) (i32.const 512) (call $length))
        (then (call $drop_ticket (local.get $index)) (return (local.get $ticket))))
      (local.set $index (i32.add (local.get $index) (i32.const 1)))
      (br $next))
    unreachable)

  (func $deep (param i64) (result i64)
    (i64.add (i64.const 1) (call $deep (i64.add (local.get 0) (i64.const 1)))))

  (func $add (param $number i64) (result i64)
    (call $raise (i32.const 0) (i64.mul (local.get $number) (global.get $version)))
    (call $raise (i32.const 1) (i64.const 1))
    (call $shown))

  (func $wait (param $number i64) (result i64)
    (if (i64.ge_u (call $word (i32.const 4)) (i64.const 8)) (then (call $refuse (i32.const 160) (i32.const 4))))
    (call $set (i32.add (i32.const 5) (i32.wrap_i64 (call $word (i32.const 4))))
      (call $park (local.get $number) (i64.const -1)))
    (call $raise (i32.const 4) (i64.const 1))
    (i64.const 0))

  (func $pass (param $number i64) (result i64)
    (local $woken i64)
    (local.set $woken (call $wake_one (i64.mul (local.get $number) (global.get $version))))
    (call $raise (i32.const 1) (i64.const 1))
    (call $begin)
    (call $text (i32.const 144) (i32.const 9)) (call $digits (local.get $woken))
    (call $end))

  ;; Bytes, each with the version's bits turned.
  (func $turned (param $p i32) (param $l i32) (result i64)
    (local $at i32)
    (local.set $at (local.get $p))
    (block $done (loop $next
      (br_if $done (i32.eq (local.get $at) (i32.add (local.get $p) (local.get $l))))
      (i32.store8 (local.get $at) (i32.xor (i32.load8_u (local.get $at)) (i32.wrap_i64 (global.get $version))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br $next)))
    (i64.or (i64.shl (i64.extend_i32_u (local.get $p)) (i64.const 32)) (i64.extend_i32_u (local.get $l))))

  ;; By the first letter of the method.
  (func (export "call") (param $m i32) (param $ml i32) (param $p i32) (param $l i32) (result i64)
    (local $first i32) (local $number i64) (local $count i32) (local $form i32)
    (local.set $first (i32.load8_u (local.get $m)))
    (local.set $number (call $argument (local.get $p) (local.get $l)))
    (if (i32.eq (local.get $first) (i32.const 103)) (then (return (call $shown))))                          ;; get
    (if (i32.eq (local.get $first) (i32.const 97)) (then (return (call $add (local.get $number)))))         ;; add
    (if (i32.eq (local.get $first) (i32.const 119)) (then (return (call $wait (local.get $number)))))       ;; wait
    (if (i32.eq (local.get $first) (i32.const 112)) (then (return (call $pass (local.get $number)))))       ;; pass
    (if (i32.eq (local.get $first) (i32.const 120)) (then                                                   ;; xor
      (call $raise (i32.const 0) (i64.mul (i64.extend_i32_u (local.get $l)) (global.get $version)))
      (call $raise (i32.const 1) (i64.const 1))
      (return (call $turned (local.get $p) (local.get $l)))))
    (if (i32.eq (local.get $first) (i32.const 118)) (then                                                   ;; view
      (return (call $turned (local.get $p) (local.get $l)))))
    (if (i32.eq (local.get $first) (i32.const 121)) (then (return (call $wait (local.get $number)))))       ;; yield
    (if (i32.eq (local.get $first) (i32.const 107)) (then (return (call $add (local.get $number)))))        ;; kill
    (if (i32.eq (local.get $first) (i32.const 113)) (then (return (call $shown))))                          ;; quit
    (local.set $form (i32.wrap_i64 (i64.rem_u (local.get $number) (global.get $drawn))))
    (if (i32.eq (local.get $first) (i32.const 99)) (then                                                    ;; chain
      (call $chain (local.get $number))
      (return (call $add (i64.const 0)))))
    (if (i32.eq (local.get $first) (i32.const 115)) (then                                                   ;; send
      (call $message (local.get $form) (local.get $number))
      (return (call $add (i64.const 0)))))
    (if (i32.eq (local.get $first) (i32.const 102)) (then                                                   ;; flood
      (call $message (local.get $form) (local.get $number))
      (call $message (local.get $form) (i64.add (local.get $number) (i64.const 1)))
      (call $message (local.get $form) (i64.add (local.get $number) (i64.const 2)))
      (return (call $add (i64.const 0)))))
    (if (i32.eq (local.get $first) (i32.const 101)) (then                                                   ;; echo
      (call $echo (i64.rem_u (local.get $number) (i64.const 40)))
      (return (call $add (i64.const 0)))))
    (if (i32.eq (local.get $first) (i32.const 108)) (then                                                   ;; later
      (call $timer_set (i64.const 1) (local.get $number))
      (return (call $add (i64.const 0)))))
    (if (i32.or (i32.eq (local.get $first) (i32.const 109)) (i32.eq (local.get $first) (i32.const 111))) (then  ;; much, overrun
      (loop $next
        (local.set $count (i32.add (local.get $count) (i32.const 1)))
        (br_if $next (i32.lt_u (local.get $count) (i32.const 600000))))
      (return (call $add (local.get $number)))))
    ;; What follows spoils the state, sends something, and fails.
    (call $raise (i32.const 0) (i64.const 1000))
    (call $raise (i32.const 1) (i64.const 1))
    (call $timer_set (i64.const 2) (i64.const 1))
    (call $message (i32.const 0) (i64.const 77))
    (if (i32.eq (local.get $first) (i32.const 116)) (then unreachable))                                     ;; trap
    (if (i32.eq (local.get $first) (i32.const 98)) (then (loop $on (br $on))))                              ;; burn
    (if (i32.eq (local.get $first) (i32.const 100)) (then (drop (call $deep (i64.const 0)))))               ;; deep
    (if (i32.eq (local.get $first) (i32.const 104)) (then                                                   ;; heavy
      (loop $on (br_if $on (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
      unreachable))
    (if (i32.eq (local.get $first) (i32.const 106)) (then (return (i64.const 0x80_0000_0008))))             ;; jumble
    (call $refuse (i32.const 112) (i32.const 9))                                                            ;; refuse
    unreachable)

  (func (export "init") (param $p i32) (param $l i32)
    (call $set (i32.const 0) (call $argument (local.get $p) (local.get $l)))
    (if (i64.ge_u (call $word (i32.const 0)) (i64.const 90)) (then (call $refuse (i32.const 112) (i32.const 9)))))

  (func (export "timer") (param i64)
    (call $raise (i32.const 3) (i64.const 1))
    (call $message (i32.const 0) (call $word (i32.const 3))))

  (func (export "session_expired") (param i32 i32)
    (call $raise (i32.const 2) (i64.const 1))
    (drop (call $wake_one (global.get $version))))

  (func (export "ticket_ended") (param $ticket i64)
    (local $index i32)
    (loop $next
      (if (i64.lt_u (i64.extend_i32_u (local.get $index)) (call $word (i32.const 4))) (then
        (if (i64.eq (call $word (i32.add (local.get $index) (i32.const 5))) (local.get $ticket))
          (then (call $drop_ticket (local.get $index)) (return)))
        (local.set $index (i32.add (local.get $index) (i32.const 1)))
        (br $next)))))

  ;; All words, as a list of numbers.
  (func (export "save") (result i64)
    (local $index i32)
    (call $begin)
    (call $text (i32.const 96) (i32.const 6))
    (loop $next
      (if (local.get $index) (then (call $byte (i32.const 44))))
      (call $digits (call $word (local.get $index)))
      (local.set $index (i32.add (local.get $index) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $index) (i32.const 14))))
    (call $byte (i32.const 93))
    (call $end))

  ;; The list is what begins with the last bracket. Version 3 takes nothing over.
  (func (export "migrate") (param $p i32) (param $l i32)
    (local $at i32) (local $end i32) (local $index i32) (local $number i64)
    (local.set $end (i32.add (local.get $p) (local.get $l)))
    (local.set $at (local.get $end))
    (loop $back
      (local.set $at (i32.sub (local.get $at) (i32.const 1)))
      (br_if $back (i32.ne (i32.load8_u (local.get $at)) (i32.const 91))))
    (loop $next
      (call $number (local.get $at) (local.get $end))
      (local.set $at) (local.set $number)
      (call $set (local.get $index) (local.get $number))
      (local.set $index (i32.add (local.get $index) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $index) (i32.const 14))))
    (call $raise (i32.const 0) (i64.mul (i64.const 7) (global.get $version)))
    (if (i64.eq (global.get $version) (i64.const 3)) (then unreachable)))
