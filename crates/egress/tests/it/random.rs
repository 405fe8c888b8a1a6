//! Numbers that look random and are the same each time, and changes made with them.

pub(crate) struct Random(u64);

/// What parsers trip over.
const TRICKY: &[&[u8]] = &[
    b"\r\n",
    b"\n",
    b"\r",
    b"\0",
    b" ",
    b"\t",
    b":",
    b",",
    b";",
    b"\x0b",
    b"\x0c",
    b"\x7f",
    b"\x85",
    b"\xa0",
    b"\xff",
    b"//",
    b"@",
    b"#",
    b"%00",
    b"Content-Length: 5\r\n",
    b"content-length:5\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: chunked, identity\r\n",
    b"Transfer-Encoding: xchunked\r\n",
    b"Host: evil.net\r\n",
    b"host : evil.net\r\n",
    b" folded\r\n",
    b"HTTP/1.1",
    b"HTTP/1.0",
    b"HTTP/2.0",
    b"http://evil.net/",
    b"+5",
    b"0x5",
    b"5, 5",
    b"Upgrade: h2c\r\n",
];

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// xorshift64*.
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap() % end.max(1)
    }

    pub(crate) fn one_of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// One to four changes.
    pub(crate) fn change(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            let byte = u8::try_from(self.below(256)).unwrap();
            match self.below(6) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, byte),
                2 if at < bytes.len() => bytes[at] = byte,
                3 if at < bytes.len() => drop(bytes.remove(at)),
                4 => {
                    let end = (at + self.below(40)).min(bytes.len());
                    let again = bytes[at..end].to_vec();
                    bytes.splice(at..at, again);
                }
                _ => {
                    let tricky = self.one_of(TRICKY);
                    bytes.splice(at..at, tricky.iter().copied());
                }
            }
        }
    }
}
