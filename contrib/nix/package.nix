# For nixpkgs, or for a checkout: nix-build -E 'with import <nixpkgs> { }; callPackage ./contrib/nix/package.nix { }'
{
  lib,
  stdenv,
  rustPlatform,
  installShellFiles,
}:

rustPlatform.buildRustPackage {
  pname = "hugewise";
  version = "0.1.0";

  # In nixpkgs: fetchFromGitHub and cargoHash in place of these two.
  src = lib.cleanSource ../..;
  cargoLock.lockFile = ../../Cargo.lock;

  cargoBuildFlags = [
    "-p"
    "hugewise"
    "-p"
    "hugewise-lab"
  ];

  # Others need a kernel's settings, which a sandbox hides.
  cargoTestFlags = [
    "-p"
    "hugewise-stats"
    "-p"
    "hugewise-experiment"
  ];

  nativeBuildInputs = [ installShellFiles ];

  # The program writes its pages itself, so they are left out if it cannot run here.
  postInstall = lib.optionalString (stdenv.buildPlatform.canExecute stdenv.hostPlatform) ''
    mkdir pages
    $out/bin/hugewise man --all pages
    installManPage pages/*
    installShellCompletion --cmd hugewise \
      --bash <($out/bin/hugewise completions bash) \
      --zsh <($out/bin/hugewise completions zsh) \
      --fish <($out/bin/hugewise completions fish)
  '';

  meta = {
    description = "Compares programs and huge page settings, with intervals, and says what to set";
    homepage = "https://github.com/hugewise/hugewise";
    changelog = "https://github.com/hugewise/hugewise/blob/v0.1.0/CHANGELOG.md";
    license = [
      lib.licenses.mit
      lib.licenses.asl20
    ];
    mainProgram = "hugewise";
    platforms = [
      "x86_64-linux"
      "aarch64-linux"
    ];
  };
}
