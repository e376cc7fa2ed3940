//! Arguments of `import`.

use clap::Arg;

use crate::model::Scope;

/// Returns the arguments that are not settings.
pub(super) fn own() -> Vec<Arg> {
    vec![
        Arg::new("globs")
            .value_name("GLOB")
            .help("Import only the toggles that this glob matches [everything]")
            .num_args(0..)
            .value_parser(glob),
    ]
}

pub(super) fn glob(text: &str) -> Result<String, String> {
    let scope = Scope::new(&[text]).map_err(|error| error.to_string())?;
    match scope.unmatchable().next() {
        None => Ok(text.to_owned()),
        Some(_) => Err(
            "it matches no toggle: globs match the whole `project/environment/toggle`, and `*` does not cross a slash; \
             use `**`"
                .to_owned(),
        ),
    }
}
