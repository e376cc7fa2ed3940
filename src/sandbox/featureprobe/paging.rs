//! Pages of a list.

use serde_json::{Value, json};

use super::call::Call;
use super::errors::ApiRefusal;

pub(super) struct PageRequest {
    index: usize,
    size: usize,
}

impl PageRequest {
    pub(super) fn of(call: &Call) -> Result<Self, ApiRefusal> {
        let number = |name, default| Ok::<_, ApiRefusal>(call.typed::<i32>(name)?.unwrap_or(default));
        let refused = |text: &str| ApiRefusal::InvalidText(text.to_owned());
        Ok(Self {
            index: usize::try_from(number("pageIndex", 0)?)
                .map_err(|_| refused("Page index must not be less than zero!"))?,
            size: usize::try_from(number("pageSize", 10)?)
                .ok()
                .filter(|size| *size > 0)
                .ok_or_else(|| refused("Page size must not be less than one!"))?,
        })
    }

    /// Returns this page of `all`, with each element written by `write`.
    pub(super) fn of_list<T>(
        &self,
        all: &[T],
        write: impl Fn(&T) -> Result<Value, ApiRefusal>,
    ) -> Result<Value, ApiRefusal> {
        let Self { index, size } = *self;
        let total = all.len();
        let offset = index.saturating_mul(size);
        let content: Vec<Value> = all
            .iter()
            .skip(offset)
            .take(size)
            .map(write)
            .collect::<Result<_, _>>()?;
        let pages = total.div_ceil(size);
        let sort = json!({ "empty": false, "unsorted": false, "sorted": true });
        Ok(json!({
            "numberOfElements": content.len(),
            "empty": content.is_empty(),
            "content": content,
            "pageable": {
                "sort": sort,
                "offset": offset,
                "pageNumber": index,
                "pageSize": size,
                "paged": true,
                "unpaged": false,
            },
            "totalPages": pages,
            "totalElements": total,
            "last": index + 1 >= pages,
            "size": size,
            "number": index,
            "sort": sort,
            "first": index == 0,
        }))
    }
}
