//! The names of fields and values in JSON, by the attributes of serde.

use anyhow::{Result, bail};
use syn::{Attribute, LitStr};

/// The spelling of a type's names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Case {
    /// `as_this`.
    Snake,
    /// `as-this`.
    Kebab,
    /// `asthis`.
    Lower,
}

/// How JSON marks the variant of an enum.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tagging {
    /// As the only key of an object.
    ByKey,
    /// As a field of the object.
    ByField(String),
    /// As a field of the object, next to another field with its value.
    Beside(String, String),
    /// By nothing.
    None,
}

impl Tagging {
    /// Returns it as a sentence.
    pub(super) fn sentence(&self) -> String {
        match self {
            Self::ByKey => {
                "In JSON a value is its name, or an object whose only key is its name.".to_owned()
            }
            Self::ByField(tag) => {
                format!("In JSON it is an object whose field {tag} is the name of the value.")
            }
            Self::Beside(tag, content) => format!(
                "In JSON it is an object: the field {tag} is the name of the value, and {content} is what it holds."
            ),
            Self::None => "In JSON it is only the content of the value, without a name.".to_owned(),
        }
    }
}

/// The attributes of a type.
pub(super) struct Container {
    /// The case of its fields or variants.
    pub(super) rename_all: Option<Case>,
    /// The variant marker of an enum.
    pub(super) tagging: Tagging,
    /// The type that replaces it in JSON.
    pub(super) into: Option<String>,
}

/// One field.
pub(super) struct Field {
    /// Its name; `None` in a tuple.
    pub(super) name: Option<String>,
    /// True if its fields are stored in the enclosing object.
    pub(super) is_flat: bool,
    /// True if it can be omitted.
    pub(super) is_optional: bool,
}

/// Visits each item of the `serde` attributes: its name, and its text if it has one.
fn each(attributes: &[Attribute], mut see: impl FnMut(&str, Option<String>)) -> Result<()> {
    for attribute in attributes.iter().filter(|it| it.path().is_ident("serde")) {
        attribute.parse_nested_meta(|meta| {
            let name = meta.path.get_ident().map(ToString::to_string);
            let text = match meta.input.peek(syn::Token![=]) {
                true => Some(meta.value()?.parse::<LitStr>()?.value()),
                false => None,
            };
            if meta.input.peek(syn::token::Paren) {
                // Bounds of parameters have no name in JSON.
                meta.input.parse::<proc_macro2::Group>()?;
            }
            see(&name.unwrap_or_default(), text);
            Ok(())
        })?;
    }
    Ok(())
}

/// Reads the attributes of a type.
pub(super) fn container(attributes: &[Attribute]) -> Result<Container> {
    let (mut rename, mut tag, mut content, mut untagged) = (None, None, None, false);
    let mut into = None;
    each(attributes, |name, text| match name {
        "into" => into = text,
        "rename_all" => rename = text,
        "tag" => tag = text,
        "content" => content = text,
        "untagged" => untagged = true,
        _ => {}
    })?;
    let rename_all = match rename.as_deref() {
        None => None,
        Some("snake_case") => Some(Case::Snake),
        Some("kebab-case") => Some(Case::Kebab),
        Some("lowercase") => Some(Case::Lower),
        Some(other) => bail!("rename_all = \"{other}\" is not known here"),
    };
    let tagging = match (tag, content, untagged) {
        (_, _, true) => Tagging::None,
        (Some(tag), Some(content), _) => Tagging::Beside(tag, content),
        (Some(tag), None, _) => Tagging::ByField(tag),
        (None, ..) => Tagging::ByKey,
    };
    Ok(Container {
        rename_all,
        tagging,
        into,
    })
}

/// Reads a field; `None` if it is never written.
pub(super) fn field(it: &syn::Field, rename: Option<Case>) -> Result<Option<Field>> {
    let (mut own, mut flat, mut optional, mut skipped) = (None, false, false, false);
    each(&it.attrs, |name, text| match name {
        "rename" => own = text,
        "flatten" => flat = true,
        "skip_serializing_if" => optional = true,
        "skip" | "skip_serializing" => skipped = true,
        _ => {}
    })?;
    let name = it.ident.as_ref().map(|ident| {
        let name = ident.to_string();
        let name = name.trim_start_matches("r#").to_owned();
        own.unwrap_or_else(|| match rename {
            Some(Case::Kebab) => name.replace('_', "-"),
            _ => name,
        })
    });
    let field = Field {
        name,
        is_flat: flat,
        is_optional: optional,
    };
    Ok((!skipped).then_some(field))
}

/// Returns the name of a variant; `None` if JSON has no name for it.
pub(super) fn variant(it: &syn::Variant, names: &Container) -> Result<Option<String>> {
    let (mut own, mut untagged) = (None, false);
    each(&it.attrs, |name, text| match name {
        "rename" => own = text,
        "untagged" => untagged = true,
        _ => {}
    })?;
    let name = it.ident.to_string();
    let name = own.unwrap_or_else(|| match names.rename_all {
        None => name.clone(),
        Some(Case::Lower) => name.to_lowercase(),
        Some(Case::Snake) => parted(&name, '_'),
        Some(Case::Kebab) => parted(&name, '-'),
    });
    Ok((!untagged).then_some(name))
}

/// Splits a name into words, like serde.
fn parted(name: &str, between: char) -> String {
    let mut parted = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_uppercase() && at > 0 {
            parted.push(between);
        }
        parted.extend(letter.to_lowercase());
    }
    parted
}
