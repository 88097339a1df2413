//! Allocators that count.
#![expect(unsafe_code, reason = "allocators are unsafe to implement; these forward to the system's")]

use crate::sys;
use std::{
    alloc::{GlobalAlloc, Layout, System},
    ffi::c_void,
    ptr,
    sync::atomic::{AtomicBool, AtomicIsize, Ordering},
};

static COUNTING: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicIsize = AtomicIsize::new(0);

/// The system's allocator, which counts live bytes while [`Stopwatch::weigh`](crate::Stopwatch::weigh) runs. Otherwise it
/// costs a branch.
#[derive(Debug)]
pub struct CountingAllocator;

fn count(bytes: isize) {
    if COUNTING.load(Ordering::Relaxed) {
        LIVE.fetch_add(bytes, Ordering::Relaxed);
    }
}

// SAFETY: every method forwards to `System` with its arguments unchanged; counting neither allocates nor
// unwinds.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size as isize - layout.size() as isize);
        // SAFETY: the caller keeps the contract of `realloc`, and `block` came from `System`.
        unsafe { System.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller keeps the contract of `dealloc`, and `block` came from `System`.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Runs `work`, and returns by how many bytes the live heap has grown.
pub(crate) fn growth<T>(work: impl FnOnce() -> T) -> (T, f64) {
    LIVE.store(0, Ordering::Relaxed);
    COUNTING.store(true, Ordering::Relaxed);
    let result = work();
    COUNTING.store(false, Ordering::Relaxed);
    (result, LIVE.load(Ordering::Relaxed) as f64)
}

/// Lets the heap of Flecs be counted too. Only worlds notice that are made first in a program: Flecs asks for its
/// functions once.
pub(crate) fn count_flecs() {
    // SAFETY: a structure of functions, of which four are replaced by such as work alike.
    unsafe {
        sys::ecs_os_set_api_defaults();
        let mut api = sys::ecs_os_get_api();
        api.malloc_ = Some(malloc);
        api.calloc_ = Some(calloc);
        api.realloc_ = Some(realloc);
        api.free_ = Some(free);
        sys::ecs_os_set_api(&raw mut api);
    }
}

/// Before each block of Flecs, its size. As large as the alignment that C promises.
const HEAD: usize = 16;

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size + HEAD, HEAD).expect("Flecs asks for less than half of the address space")
}

extern "C-unwind" fn malloc(size: i32) -> *mut c_void {
    let size = size as usize;
    // SAFETY: the layout is not empty.
    let block = unsafe { System.alloc(layout(size)) };
    if block.is_null() {
        return ptr::null_mut();
    }
    count(size as isize);
    // SAFETY: the block is `HEAD` bytes larger than asked for, and aligned for a number.
    unsafe {
        block.cast::<usize>().write(size);
        block.add(HEAD).cast()
    }
}

extern "C-unwind" fn calloc(size: i32) -> *mut c_void {
    let block = malloc(size);
    if !block.is_null() {
        // SAFETY: it has `size` bytes.
        unsafe { block.cast::<u8>().write_bytes(0, size as usize) };
    }
    block
}

unsafe extern "C-unwind" fn realloc(block: *mut c_void, size: i32) -> *mut c_void {
    let new = malloc(size);
    if !block.is_null() && !new.is_null() {
        // SAFETY: Flecs passes blocks of `malloc`, before which their size stands; both blocks have as many bytes.
        unsafe {
            let old = block.cast::<u8>().sub(HEAD).cast::<usize>().read();
            ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast(), old.min(size as usize));
            free(block);
        }
    }
    new
}

unsafe extern "C-unwind" fn free(block: *mut c_void) {
    if block.is_null() {
        return;
    }
    // SAFETY: Flecs passes blocks of `malloc`, before which their size stands.
    unsafe {
        let block = block.cast::<u8>().sub(HEAD);
        let size = block.cast::<usize>().read();
        count(-(size as isize));
        System.dealloc(block, layout(size));
    }
}
