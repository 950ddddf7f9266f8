//! Measures the heap memory that processing an input takes.

#![allow(unsafe_code, reason = "GlobalAlloc is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static ALLOCATED_BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK_BYTES: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator with a count of the allocated bytes.
#[derive(Debug)]
pub struct CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn count_allocation(bytes: usize) {
    let allocated = ALLOCATED_BYTES
        .fetch_add(bytes, Relaxed)
        .wrapping_add(bytes);
    PEAK_BYTES.fetch_max(allocated, Relaxed);
}

// SAFETY: every method passes its arguments unchanged to the system's allocator.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_allocation(layout.size());
        // SAFETY: the caller upholds the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATED_BYTES.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller upholds the same contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count_allocation(size);
        ALLOCATED_BYTES.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller upholds the same contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Runs `work` and returns the maximum growth of the heap during it, in bytes.
pub fn peak(work: impl FnOnce()) -> usize {
    let before = ALLOCATED_BYTES.load(Relaxed);
    PEAK_BYTES.store(before, Relaxed);
    work();
    PEAK_BYTES.load(Relaxed).saturating_sub(before)
}
