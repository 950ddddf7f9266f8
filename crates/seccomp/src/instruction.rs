//! Instructions of classic BPF.

/// The codes of classic BPF instructions; see bpf(4) on the BSDs.
pub(crate) mod code {
    pub const LD_W_ABS: u16 = 0x20;
    pub const LD_IMM: u16 = 0x00;
    pub const LD_MEM: u16 = 0x60;
    pub const LD_W_LEN: u16 = 0x80;
    pub const LDX_IMM: u16 = 0x01;
    pub const LDX_MEM: u16 = 0x61;
    pub const LDX_W_LEN: u16 = 0x81;
    pub const ST: u16 = 0x02;
    pub const STX: u16 = 0x03;
    pub const ALU: u16 = 0x04;
    pub const AND_K: u16 = 0x54;
    pub const XOR_K: u16 = 0xa4;
    pub const OR_X: u16 = 0x4c;
    pub const NEG: u16 = 0x84;
    pub const JA: u16 = 0x05;
    pub const JMP: u16 = 0x05;
    pub const JEQ_K: u16 = 0x15;
    pub const JGT_K: u16 = 0x25;
    pub const JGE_K: u16 = 0x35;
    pub const JSET_K: u16 = 0x45;
    pub const RET_K: u16 = 0x06;
    pub const RET_A: u16 = 0x16;
    pub const TAX: u16 = 0x07;
    pub const TXA: u16 = 0x87;
    /// The bit that selects register X instead of the constant k as operand.
    pub const X: u16 = 0x08;
}

/// The byte offsets of the fields of `struct seccomp_data` on a little-endian machine.
pub(crate) mod offset {
    pub const NR: u32 = 0;
    pub const ARCH: u32 = 4;
    // Offset 8 holds the instruction pointer, 8 bytes long.
    pub const ARGS: u32 = 16;
    /// The size of the structure.
    pub const END: u32 = 64;
}

/// One instruction: `struct sock_filter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// The operation.
    pub code: u16,
    /// The number of instructions that a conditional jump skips if its test holds.
    pub jt: u8,
    /// The number of instructions that a conditional jump skips if its test does not hold.
    pub jf: u8,
    /// The constant operand.
    pub k: u32,
}

impl Instruction {
    /// The size of an instruction in bytes.
    pub const BYTES: usize = 8;

    /// An instruction that is not a conditional jump.
    pub(crate) const fn plain(code: u16, k: u32) -> Instruction {
        Instruction {
            code,
            jt: 0,
            jf: 0,
            k,
        }
    }

    /// Encodes the instruction in the kernel's format.
    pub fn to_ne_bytes(self) -> [u8; Instruction::BYTES] {
        let ([a, b], [e, f, g, h]) = (self.code.to_ne_bytes(), self.k.to_ne_bytes());
        [a, b, self.jt, self.jf, e, f, g, h]
    }

    /// Decodes the output of [`Instruction::to_ne_bytes`].
    pub fn from_ne_bytes([a, b, jt, jf, e, f, g, h]: [u8; Instruction::BYTES]) -> Instruction {
        Instruction {
            code: u16::from_ne_bytes([a, b]),
            jt,
            jf,
            k: u32::from_ne_bytes([e, f, g, h]),
        }
    }
}
