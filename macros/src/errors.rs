//! Mistakes, collected so that all of them are reported at once.

use proc_macro2::TokenStream;
use quote::ToTokens;
use std::fmt::Display;

/// Every mistake found so far.
#[derive(Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// Notes a mistake made by `tokens`.
    pub(crate) fn at(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    pub(crate) fn into_compile_errors(self) -> TokenStream {
        self.0.map(syn::Error::into_compile_error).unwrap_or_default()
    }

    #[cfg(test)]
    pub(crate) fn messages(self) -> Vec<String> {
        self.0.into_iter().flatten().map(|error| error.to_string()).collect()
    }
}
