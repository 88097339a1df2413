//! Builds the C core of Flecs that `FLECS_CORE` names, a folder with `flecs.c` and `flecs.h` as Flecs distributes them. Without
//! it, the core of the crate `flecs_ecs` is measured, and nothing happens here.

use std::{env, fs, path::Path, process::Command};

/// As the crate `flecs_ecs` defines them for the features that `Cargo.toml` asks of it, so that both cores are built alike.
const DEFINED: &[&str] = &[
    "FLECS_CUSTOM_BUILD",
    "FLECS_CPP",
    "FLECS_MODULE",
    "FLECS_SYSTEM",
    "FLECS_PIPELINE",
    "FLECS_TIMER",
    "FLECS_OS_API_IMPL",
    "FLECS_META",
    "FLECS_ALERTS",
    "FLECS_METRICS",
    "FLECS_SCRIPT",
    "FLECS_UNITS",
    "FLECS_DOC",
    "FLECS_TERM_COUNT_MAX=32",
];

fn main() {
    println!("cargo::rerun-if-env-changed=FLECS_CORE");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(flecs_core, flecs_parent)");
    let Some(folder) = env::var_os("FLECS_CORE").filter(|folder| !folder.is_empty()) else {
        return;
    };
    let folder = Path::new(&folder);
    let [source, header] = ["flecs.c", "flecs.h"].map(|file| folder.join(file));
    for file in [&source, &header] {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    let declared = fs::read_to_string(&header)
        .unwrap_or_else(|error| panic!("FLECS_CORE: {} cannot be read: {error}", header.display()));
    println!("cargo::rustc-cfg=flecs_core");
    if declared.contains("} EcsParent;") {
        println!("cargo::rustc-cfg=flecs_parent");
    }
    compile(&source);
    bind(&header);
}

/// With assertions where Rust has them, as the crate `flecs_ecs` does.
fn compile(source: &Path) {
    let mut build = cc::Build::new();
    build.file(source).warnings(false);
    for define in DEFINED {
        let (name, value) =
            define.split_once('=').map_or((*define, None), |(name, value)| (name, Some(value)));
        build.define(name, value);
    }
    if env::var_os("CARGO_CFG_DEBUG_ASSERTIONS").is_none() {
        build.opt_level(3).define("NDEBUG", None);
    }
    build.compile("flecs_core");
}

/// Structures differ from version to version: the bindings are made of the header that the core is compiled with, and assert
/// the layout that the C compiler sees.
fn bind(header: &Path) {
    let bindings = bindgen::Builder::default()
        .header(header.to_str().expect("FLECS_CORE: the path is not UTF-8"))
        .clang_args(DEFINED.iter().map(|define| format!("-D{define}")))
        .clang_args(headers_of_compiler().map(|folder| format!("-idirafter{folder}")))
        .allowlist_item("(ecs|Ecs|FLECS|flecs).*")
        .override_abi(bindgen::Abi::CUnwind, ".*")
        .generate_comments(false)
        .layout_tests(true)
        .use_core();
    let file = Path::new(&env::var_os("OUT_DIR").expect("cargo sets it")).join("flecs.rs");
    let written = bindings.generate().map(|bindings| bindings.write_to_file(&file));
    written.expect("FLECS_CORE: no bindings for the header").expect("cargo's directory can be written");
}

/// Where the C compiler has headers like `stdarg.h`: libclang is often installed without its own.
fn headers_of_compiler() -> Option<String> {
    let compiler = cc::Build::new().get_compiler();
    let output = Command::new(compiler.path()).arg("-print-file-name=include").output().ok()?;
    let folder = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    Path::new(&folder).is_absolute().then_some(folder)
}
